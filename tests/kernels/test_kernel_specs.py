"""What a spec asks of arguments, and what it says of launch and cost."""

from __future__ import annotations

import pytest

from engine.kernels.arguments import checked
from engine.kernels.catalogue import CATALOGUE
from engine.kernels.families.norm import strip_rows, strips
from engine.kernels.families.rope import weight_blocks
from engine.kernels.families.tokens import cached_packs
from engine.kernels.spec import Number
from engine.protocol.errors import Bug

NORM: dict[str, Number] = {
    "x": 0x1000, "weight": 0x2000, "y": 0x3000, "rstd": 0x4000, "rows": 4096, "width": 1024, "eps": 1e-6,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": 1020}, "takes width in multiples of 8"),
        ({"width": 16384}, "at most 8,192, but got"),
        ({"rows": 0}, "takes positive rows"),
        ({"y": 0x3008}, "cannot take address 0x3008 for 'y'"),
        ({"y": 0}, "cannot take address 0x0 for 'y'"),
        ({"rstd": 0x4002}, "cannot take address 0x4002 for 'rstd'"),
        ({"z": 1}, "has no parameter 'z'"),
    ],
)
def test_arguments_that_cannot_be_are_refused(change: dict[str, Number], said: str) -> None:
    with pytest.raises(Bug, match="rms_norm_forward") as caught:
        checked(CATALOGUE["rms_norm_forward"], NORM | change)
    assert said in caught.value.message


def test_a_missing_argument_is_named_and_an_optional_one_is_null() -> None:
    spec = CATALOGUE["rms_norm_forward"]
    with pytest.raises(Bug, match="needs 'eps'"):
        checked(spec, {k: v for k, v in NORM.items() if k != "eps"})
    assert checked(spec, NORM)["residual"] == 0


def test_bytes_follow_from_what_is_really_passed() -> None:
    spec = CATALOGUE["rms_norm_forward"]
    plain, fused = checked(spec, NORM), checked(spec, NORM | {"residual": 0x5000, "sum": 0x6000})
    array = 4096 * 1024 * 2
    assert spec.cost(plain).bytes == 2 * array + 1024 * 2 + 4096 * 4
    assert spec.cost(fused).bytes == 4 * array + 1024 * 2 + 4096 * 4
    assert spec.launch(plain).grid == (4096, 1, 1) and spec.launch(plain).block == (64, 1, 1)


@pytest.mark.parametrize("width", [64, 2048, 2056, 8192])
@pytest.mark.parametrize("rows", [1, 7, 511, 512, 513, 4096, 100_001])
def test_strips_cover_all_rows_and_their_number_is_bounded(rows: int, width: int) -> None:
    found, each = strips(rows, width), strip_rows(rows, width)
    assert found <= (512 if width <= 2048 else 256)
    assert (found - 1) * each < rows <= found * each


def test_launch_shapes_do_not_know_the_device() -> None:
    assert weight_blocks(4096, 32, 8, 128) == 528  # of the 5,120 blocks that 4,096 tokens × 20 groups × 8 lanes fill
    assert weight_blocks(3, 4, 2, 64) == 1


def test_the_cache_of_logits_fits_the_block_and_the_row() -> None:
    assert cached_packs(232448, 151936) == (232448 - 1024) // 16
    assert cached_packs(232448, 1000) == 125
    assert cached_packs(0, 1000) == 0


def test_every_kernel_runs_on_ampere_and_needs_no_feature_yet() -> None:
    assert {spec.feature for spec in CATALOGUE.values()} == {""}
    assert {spec.minimum_capability for spec in CATALOGUE.values()} == {80}
