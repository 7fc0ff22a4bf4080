from __future__ import annotations

from pathlib import Path

import pytest

from engine.protocol.events import PhaseStarted, RunPaused, UnknownEvent, decode_event
from engine.training.event_writer import open_event_log, read_history


def _decoded(path: Path) -> list[object]:
    return [decode_event(line) for line in path.read_bytes().splitlines() if line]


def test_events_are_whole_lines_counted_from_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = open_event_log(path, read_history(path), attempt=1)
    writer.write(PhaseStarted(**writer.stamp(), phase="reading_model"))
    writer.step = 3
    writer.write(RunPaused(**writer.stamp()))
    first, second = _decoded(path)  # readable while the writer is open
    writer.close()
    assert isinstance(first, PhaseStarted)
    assert (first.sequence, first.attempt, first.step) == (1, 1, 0)
    assert isinstance(second, RunPaused)
    assert (second.sequence, second.step) == (2, 3)
    assert second.elapsed_seconds >= first.elapsed_seconds
    assert second.time_utc.endswith("Z")


def test_an_event_out_of_turn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = open_event_log(path, read_history(path), attempt=1)
    event = RunPaused(**writer.stamp())
    writer.write(event)
    with pytest.raises(ValueError, match="out of turn"):
        writer.write(event)
    writer.close()


def test_a_torn_last_line_is_left_and_the_next_attempt_goes_on_after_it(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = open_event_log(path, read_history(path), attempt=1)
    for _ in range(3):
        writer.write(RunPaused(**writer.stamp()))
    writer.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])  # the third line is torn by a kill
    history = read_history(path)
    assert (history.last_sequence, history.last_attempt, history.ends_torn) == (2, 1, True)
    writer = open_event_log(path, history, attempt=2)
    writer.write(RunPaused(**writer.stamp()))
    writer.close()
    assert path.read_bytes().startswith(whole[:-10] + b"\n")
    again = read_history(path)
    assert (again.last_sequence, again.last_attempt, again.ends_torn) == (3, 2, False)


def test_events_of_a_newer_release_count_in_the_sequence(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event":"MoonRose","sequence":41,"attempt":2,"step":9,"time_utc":"","elapsed_seconds":0}\n')
    assert isinstance(_decoded(path)[0], UnknownEvent)
    history = read_history(path)
    assert (history.last_sequence, history.last_attempt) == (41, 2)
