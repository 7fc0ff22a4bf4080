from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import pytest

from engine.protocol.commands import PauseRun, StopRun, UnpauseRun, new_id, send
from engine.protocol.events import (
    CommandRejected,
    PhaseCompleted,
    PhaseProgressed,
    PhaseStarted,
    RunPaused,
    RunUnpaused,
    decode_event,
)
from engine.protocol.heartbeat import read_heartbeat
from engine.training.command_reader import CommandReader
from engine.training.controls import Controls
from engine.training.event_writer import open_event_log, read_history
from engine.training.guards import LONGEST_STREAK, NonFinite, NonFiniteGuard, diverged
from engine.training.phases import phase
from engine.training.watch import StopRequested, Watch


def _no_save() -> None:
    raise AssertionError("nobody asked for a checkpoint")


class Room:
    def __init__(self, root: Path, longest_pause_seconds: float = 600.0) -> None:
        self.folder = root / "commands"
        self.folder.mkdir()
        self.path = root / "events.jsonl"
        self.events = open_event_log(self.path, read_history(self.path), attempt=1)
        controls = Controls()
        reader = CommandReader(self.folder, self.events, set(), controls.handle)
        self.watch = Watch(controls, reader, self.events, root / "heartbeat.json", longest_pause_seconds)

    def written(self) -> list[object]:
        return [decode_event(line) for line in self.path.read_bytes().splitlines()]


def test_a_phase_reports_progress_and_time_left(tmp_path: Path) -> None:
    room, began = Room(tmp_path), time.monotonic()
    with phase("reading_model", room.events, room.watch.tick) as progress:
        time.sleep(0.3)
        progress(1, 4, "bytes")
        spent = time.monotonic() - began
        progress(2, 4, "bytes")  # too soon after the last: not written
        progress(4, 4, "bytes")
    kinds = [type(event) for event in room.written()]
    assert kinds == [PhaseStarted, PhaseProgressed, PhaseProgressed, PhaseCompleted]
    middle = room.written()[1]
    assert isinstance(middle, PhaseProgressed)
    assert middle.remaining_seconds is not None
    assert 3 * 0.3 <= middle.remaining_seconds <= 3 * spent  # a quarter is done: three times as long as it took so far
    room.events.close()


def test_a_phase_can_be_stopped(tmp_path: Path) -> None:
    room = Room(tmp_path)
    with pytest.raises(StopRequested) as caught, phase("tokenising", room.events, room.watch.tick) as progress:
        send(room.folder, StopRun(id=new_id(), attempt=1))
        time.sleep(0.25)
        progress(1, 2, "rows")
    assert caught.value.reason == "asked"
    assert PhaseCompleted not in [type(event) for event in room.written()]
    room.events.close()


def test_the_heart_says_who_works_here(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.events.step = 4
    room.watch.tick()
    beat = read_heartbeat(tmp_path / "heartbeat.json")
    assert beat is not None
    assert (beat.attempt, beat.step) == (1, 4)
    room.events.close()


def test_a_paused_run_waits_and_goes_on(tmp_path: Path) -> None:
    room = Room(tmp_path)
    send(room.folder, PauseRun(id=new_id(), attempt=1))
    room.watch.tick()
    timer = threading.Timer(0.4, lambda: send(room.folder, UnpauseRun(id=new_id(), attempt=1)))
    timer.start()
    assert room.watch.wait_while_paused(_no_save) >= 0.4
    timer.join()
    kinds = [type(event) for event in room.written()]
    assert kinds.index(RunPaused) < kinds.index(RunUnpaused)
    assert room.watch.wait_while_paused(_no_save) == 0.0
    room.events.close()


def test_a_pause_that_lasts_too_long_ends_the_run(tmp_path: Path) -> None:
    room = Room(tmp_path, longest_pause_seconds=0.1)
    send(room.folder, PauseRun(id=new_id(), attempt=1))
    room.watch.tick()
    with pytest.raises(StopRequested) as caught:
        room.watch.wait_while_paused(_no_save)
    assert caught.value.reason == "paused_too_long"
    room.events.close()


def test_what_is_asked_after_the_end_is_answered(tmp_path: Path) -> None:
    room = Room(tmp_path)
    send(room.folder, PauseRun(id="late", attempt=1))
    room.watch.close()
    answer = room.written()[-1]
    assert isinstance(answer, CommandRejected)
    assert answer.problem.code == "run_is_over"
    room.events.close()


def test_single_bad_steps_are_skipped_and_a_streak_stops() -> None:
    guard = NonFiniteGuard()
    assert guard.look(loss=2.0, grad_norm=1.0) is None
    assert guard.look(loss=math.nan, grad_norm=1.0) == NonFinite("loss", "skipped")
    assert guard.look(loss=2.0, grad_norm=1.0) is None
    actions = [guard.look(loss=2.0, grad_norm=math.inf) for _ in range(LONGEST_STREAK)]
    assert actions[-1] == NonFinite("grad_norm", "stopped")
    assert actions[0] == NonFinite("grad_norm", "skipped")
    assert diverged("grad_norm").code == "diverged"
