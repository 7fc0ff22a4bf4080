from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import use_disk, write_atomically
from engine.protocol.folder import RunFolder
from engine.protocol.heartbeat import Heartbeat, boot_id, host, read_heartbeat, start_ticks, write_heartbeat
from engine.protocol.lock import ProcessLock, is_held
from tests.helpers.faulty_disk import FaultyDisk


@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, fail_at: int) -> None:
    path = tmp_path / "settings.json"
    write_atomically(path, "old")
    with use_disk(FaultyDisk(fail_at)), pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["settings.json"]


def test_a_whole_write_takes_three_operations(tmp_path: Path) -> None:
    with use_disk(FaultyDisk(4)):
        write_atomically(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_lock_is_held_until_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    assert not is_held(path) and not path.exists()
    code = (
        "import sys, time; from pathlib import Path; from engine.protocol.lock import ProcessLock\n"
        f"lock = ProcessLock(Path({str(path)!r})); lock.acquire(); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"held"
        assert is_held(path)
        with pytest.raises(SurroundingsError, match="Another process"):
            ProcessLock(path).acquire(wait_seconds=0)
        child.kill()
        child.wait()
    assert not is_held(path)


def test_heartbeat_names_this_process(tmp_path: Path) -> None:
    import os

    beat = Heartbeat(
        host=host(), boot_id=boot_id(), pid=os.getpid(), start_ticks=start_ticks(os.getpid()), attempt=1, step=0,
        time_utc="2026-12-01T00:00:00.000Z",
    )  # fmt: skip
    write_heartbeat(tmp_path / "heartbeat.json", beat)
    assert read_heartbeat(tmp_path / "heartbeat.json") == beat
    assert beat.start_ticks > 0
    assert start_ticks(2**22 + 1) == 0
    assert read_heartbeat(tmp_path / "none.json") is None


def test_only_checkpoints_with_a_manifest_count(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "20261201T000000-ABCD")
    folder.create()
    with pytest.raises(FileExistsError):
        folder.create()
    for step, complete in ((10, True), (2, True), (20, False)):
        folder.checkpoint(step).mkdir()
        if complete:
            (folder.checkpoint(step) / "manifest.json").write_text("{}")
    assert [step for step, _ in folder.checkpoints()] == [2, 10]
