from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.protocol.errors import EngineError
from engine.runtime.philox import Stream, normal, philox_block, random_words, random_words_torch, uniform

ONES = 0xFFFFFFFF
# Random123's kat_vectors, philox4x32 10: counter, key, output.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_published_known_answers(
    counter: tuple[int, int, int, int], key: tuple[int, int], expected: tuple[int, int, int, int]
) -> None:
    assert philox_block(counter, key) == expected


STREAM = Stream(seed=0x9E3779B97F4A7C15, purpose=7, step=123_456, micro_batch=3, layer=29)


def test_numpy_and_torch_agree_with_the_definition() -> None:
    words = random_words(STREAM, 30)
    blocks = [philox_block((i, *STREAM.counter_tail), STREAM.key) for i in range(8)]
    assert words.tolist() == [word for block in blocks for word in block][:30]
    assert random_words_torch(STREAM, 30, 0, torch.device("cpu")).tolist() == words.tolist()


def test_a_piece_equals_its_place_in_the_whole() -> None:
    whole = random_words(STREAM, 1000)
    assert (random_words(STREAM, 123, 457) == whole[457:580]).all()
    assert random_words_torch(STREAM, 123, 456, torch.device("cpu")).tolist() == whole[456:579].tolist()


@pytest.mark.parametrize("field", ["seed", "purpose", "step", "micro_batch", "layer"])
def test_every_field_of_the_key_changes_the_numbers(field: str) -> None:
    values = {"seed": 5, "purpose": 1, "step": 2, "micro_batch": 3, "layer": 4}
    changed = {**values, field: values[field] + 1}
    assert (random_words(Stream(**values), 64) != random_words(Stream(**changed), 64)).sum() >= 60


def test_uniform_and_normal_have_their_moments() -> None:
    count = 200_000  # five standard errors of each moment stand on the right-hand sides
    flat, bell = uniform(STREAM, count), normal(STREAM, count)
    assert flat.min() >= 0.0 and flat.max() < 1.0
    assert abs(flat.mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    assert abs(bell.mean()) < 5 / np.sqrt(count) and abs(bell.var() - 1.0) < 5 * np.sqrt(2 / count)
    assert np.isfinite(bell).all()


def test_a_key_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(EngineError, match="layer"):
        Stream(seed=0, purpose=0, layer=1 << 16)
