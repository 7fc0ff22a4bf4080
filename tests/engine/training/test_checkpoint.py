from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import use_disk
from engine.protocol.folder import RunFolder
from engine.training.checkpoint import (
    CheckpointManifest,
    TensorFile,
    TrainingState,
    delete_checkpoint,
    read_manifest,
    save_checkpoint,
    steps_to_delete,
    sweep,
    verify_checkpoint,
)
from engine.training.safetensors_file import SafetensorsFile, TensorEntry
from tests.helpers.faulty_disk import FaultyDisk

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def _manifest(step: int = 7) -> CheckpointManifest:
    return CheckpointManifest(
        run="r",
        attempt=1,
        time_utc="",
        method="lora",
        precision="fp32",
        base_model={"config": "abc"},
        numerics={"seed": 1},
        state=TrainingState(step=step, updates=step, micro_batches=step * 2, trained_tokens=99),
    )


def _files() -> list[TensorFile]:
    return [TensorFile("weights.safetensors", [TensorEntry("w", "F32", (3, 4))], lambda _: VALUES)]


def _run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    run.create()
    return run


def test_a_checkpoint_reads_back_and_its_files_are_verified(tmp_path: Path) -> None:
    run = _run(tmp_path)
    saved = save_checkpoint(run.checkpoint(7), _files(), _manifest())
    assert run.checkpoints() == [(7, saved.path)]
    manifest = read_manifest(saved.path)
    assert manifest.state == _manifest().state
    verify_checkpoint(saved.path, manifest)
    assert np.array_equal(SafetensorsFile(saved.path / "weights.safetensors").read("w"), VALUES)
    assert save_checkpoint(run.checkpoint(7), _files(), _manifest()).sha256 == saved.sha256

    weights = saved.path / "weights.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    with pytest.raises(SurroundingsError, match="not what was written"):
        verify_checkpoint(saved.path, manifest)


class _Interrupted(BaseException):
    """Stands for a kill: nothing that cleans up after ordinary errors may matter."""


def _interrupt() -> None:
    raise _Interrupted


def _disk_calls_of_one_save(tmp_path: Path) -> int:
    counter = FaultyDisk(0)
    with use_disk(counter):
        save_checkpoint(tmp_path / "count" / "step-00000001", _files(), _manifest(1))
    return counter.calls


def test_a_fault_at_any_call_leaves_no_checkpoint_that_looks_whole(tmp_path: Path) -> None:
    calls = _disk_calls_of_one_save(tmp_path)
    assert calls >= 7
    run = _run(tmp_path)
    for n in range(1, calls + 1):
        with use_disk(FaultyDisk(n, _interrupt)), pytest.raises(_Interrupted):
            save_checkpoint(run.checkpoint(7), _files(), _manifest())
        assert run.checkpoints() == []
    sweep(run.checkpoint_root)
    assert list(run.checkpoint_root.iterdir()) == []
    save_checkpoint(run.checkpoint(7), _files(), _manifest())
    sweep(run.checkpoint_root)
    assert [step for step, _ in run.checkpoints()] == [7]


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path)
    for n in range(1, _disk_calls_of_one_save(tmp_path) + 1):
        with use_disk(FaultyDisk(n)), pytest.raises(SurroundingsError) as caught:
            save_checkpoint(run.checkpoint(7), _files(), _manifest())
        assert caught.value.code == "disk_full"
        assert list(run.checkpoint_root.iterdir()) == []


def test_a_save_that_cannot_fit_is_refused_before_it_starts(tmp_path: Path) -> None:
    huge = [TensorFile("weights.safetensors", [TensorEntry("w", "F32", (1 << 50,))], lambda _: VALUES)]
    with pytest.raises(SurroundingsError) as caught:
        save_checkpoint(_run(tmp_path).checkpoint(7), huge, _manifest())
    assert caught.value.code == "disk_full"


def test_deleting_is_seen_as_gone_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(tmp_path)
    saved = save_checkpoint(run.checkpoint(7), _files(), _manifest())

    def killed(path: Path) -> None:
        raise _Interrupted

    with monkeypatch.context() as patch:
        patch.setattr("engine.training.checkpoint.shutil.rmtree", killed)
        with pytest.raises(_Interrupted):
            delete_checkpoint(saved.path)
    assert run.checkpoints() == []
    sweep(run.checkpoint_root)
    assert not saved.path.exists()


def test_the_keeping_rule_keeps_best_and_last() -> None:
    losses = {10: 2.0, 20: 1.0, 30: None, 40: 1.5, 50: 1.6}
    assert steps_to_delete(losses, keep_last=2, keep_best=1) == [10, 30]
    assert steps_to_delete(losses, keep_last=1, keep_best=0) == [10, 20, 30, 40]


@given(
    losses=st.dictionaries(st.integers(1, 99), st.none() | st.floats(0, 9), min_size=1),
    keep_last=st.integers(0, 4),
    keep_best=st.integers(0, 4),
)
def test_the_newest_is_never_deleted(losses: dict[int, float | None], keep_last: int, keep_best: int) -> None:
    gone = steps_to_delete(losses, keep_last=keep_last, keep_best=keep_best)
    assert max(losses) not in gone
    assert len(losses) - len(gone) <= max(1, keep_last) + keep_best
