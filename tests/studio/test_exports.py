"""Exports and other engine jobs, with stand-ins for the engine: what is refused, cancelled, interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.protocol.codec import to_line
from engine.protocol.errors import SurroundingsError
from engine.protocol.events import ExportStarted
from engine.protocol.lock import ProcessLock
from studio.app import Studio, open_studio
from studio.engine_job import EngineJob, new_log
from studio.runs.rows import RunRow
from tests.studio.runs.test_history import recorded_run

Opens = Callable[[str], Studio]
TALKER = """
import sys
print("a library says hello", flush=True)
print('{"event":"PhaseStarted","sequence":1,"attempt":1,"step":0,"time_utc":"","elapsed_seconds":0,"phase":"x"}')
"""
FAILS = TALKER + "sys.exit('the disk is on fire')"
SLEEPS = TALKER + "sys.stdout.flush(); import time; time.sleep(600)"


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """A studio whose engine is a line of Python."""
    opened: list[Studio] = []

    def open_with(code: str) -> Studio:
        opened.append(open_studio(tmp_path / "home", engine_command=[sys.executable, "-c", code]))
        return opened[-1]

    yield open_with
    for studio in opened:
        studio.close()


def a_run(studio: Studio, *, checkpoint: bool = True) -> RunRow:
    run = recorded_run(studio.home, 3, name="My run: 1/2")
    if checkpoint:
        folder = studio.home.run(run).checkpoint(3)
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
    studio.runs.refresh()
    return studio.store.run(run)


def test_a_job_gives_its_events_and_skips_what_libraries_print(opens: Opens) -> None:
    studio = opens(TALKER)
    job = studio.exports.start(a_run(studio), "merged")
    seen: list[object] = []
    job.wait(seen.append)
    job.close()
    assert [type(event).__name__ for event in seen] == ["PhaseStarted"]
    assert job.problem is None


def test_a_job_that_fails_says_its_last_line(opens: Opens) -> None:
    studio = opens(FAILS)
    job = studio.exports.start(a_run(studio), "merged")
    with pytest.raises(SurroundingsError, match="the disk is on fire"):
        job.wait()
    job.close()


def test_a_cancelled_job_is_gone_and_says_so(opens: Opens) -> None:
    studio = opens(SLEEPS)
    job = studio.exports.start(a_run(studio), "merged")
    while not job.poll():
        time.sleep(0.02)
    assert job.is_running
    job.cancel()
    assert not job.is_running
    assert job.problem is not None
    assert job.problem.code == "engine.cancelled"
    job.cancel()  # harmless
    job.close()


def test_an_engine_that_is_not_there_is_told(opens: Opens, tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError, match="could not be started"):
        EngineJob([str(tmp_path / "none")], environment={}, log=new_log(tmp_path, "probe"))


def test_what_cannot_be_exported_is_refused_before_it_is_tried(opens: Opens) -> None:
    studio = opens(TALKER)
    with pytest.raises(SurroundingsError, match="no checkpoint"):
        studio.exports.start(a_run(studio, checkpoint=False), "merged")


def test_a_proposed_folder_is_new_and_named_after_the_run(opens: Opens, tmp_path: Path) -> None:
    studio = opens(TALKER)
    row = a_run(studio)
    first = studio.exports.propose_folder(row, "peft", "best")
    assert first == studio.home.exports / "My-run-1-2-best-peft"
    first.mkdir()
    assert studio.exports.propose_folder(row, "peft", "best").name == "My-run-1-2-best-peft-2"
    studio.settings.change(export_folder=str(tmp_path / "other disk"))
    assert studio.exports.propose_folder(row, "peft", "best").parent == tmp_path / "other disk"


def test_an_export_whose_process_has_gone_is_interrupted(opens: Opens) -> None:
    studio = opens(TALKER)
    row = a_run(studio)
    folder = studio.home.run(row.id)
    event = ExportStarted(
        sequence=1, attempt=0, step=3, time_utc="2026-12-01T00:00:00.000Z", elapsed_seconds=0.0, format="peft",
        path="/exports/x", checkpoint_step=3,
    )  # fmt: skip
    folder.exports.write_bytes(to_line(event))
    lock = ProcessLock(folder.path / "exports.lock")
    lock.acquire()
    studio.runs.refresh()
    assert [export.state for export in studio.exports.rows(row.id)] == ["writing"]
    lock.release()
    assert [export.state for export in studio.exports.rows(row.id)] == ["interrupted"]


def test_measured_rates_are_kept_for_this_processor_only(opens: Opens) -> None:
    spec = (
        'print(\'{"cores":2,"memory_bytes":1,"other_bytes":0,"matmul_flops":5e9,"memory_bandwidth":7e9,'
        '"measured":true}\')'
    )
    studio = opens(spec)
    machine = studio.machine()
    assert not machine.measured
    measured = studio.rates.measure(machine)
    assert (measured.matmul_flops, measured.memory_bandwidth, measured.measured) == (5e9, 7e9, True)
    assert studio.machine().measured
    assert list(studio.home.logs.glob("probe-*")) == []
