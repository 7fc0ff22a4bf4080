from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from engine.protocol.commands import KnownCommand, PauseRun, SaveCheckpoint, StopRun, UnpauseRun, new_id, send
from engine.protocol.events import CommandAccepted, CommandIgnored, CommandRejected, decode_event
from engine.training.command_reader import CommandReader
from engine.training.controls import Controls, termination_stops
from engine.training.event_writer import open_event_log, read_history


class Desk:
    """A commands folder, an event log and a reader, as one attempt has them."""

    def __init__(self, root: Path, attempt: int = 1) -> None:
        self.folder = root / "commands"
        self.folder.mkdir(exist_ok=True)
        self.path = root / "events.jsonl"
        history = read_history(self.path)
        self.controls = Controls()
        self.events = open_event_log(self.path, history, attempt=attempt)
        self.reader = CommandReader(self.folder, self.events, history.answered_commands, self.controls.handle)

    def ask(self, command: KnownCommand) -> None:
        send(self.folder, command)
        self.reader.poll()

    def answers(self) -> list[object]:
        return [decode_event(line) for line in self.path.read_bytes().splitlines()]


def test_each_command_is_answered_once_and_in_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first, second = new_id(), new_id()
    send(desk.folder, PauseRun(id=first, attempt=1))
    send(desk.folder, SaveCheckpoint(id=second, attempt=1))
    desk.reader.poll()
    desk.reader.poll()
    assert [(type(a), getattr(a, "command_id", None)) for a in desk.answers()] == [
        (CommandAccepted, first),
        (CommandAccepted, second),
    ]
    assert desk.controls.paused
    assert desk.controls.checkpoint_wanted
    desk.events.close()


def test_a_restarted_engine_does_not_answer_again_and_ignores_what_was_for_another_attempt(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.ask(StopRun(id="aaaa", attempt=1))
    desk.events.close()
    send(desk.folder, StopRun(id="bbbb", attempt=1))  # asked too late: the first attempt is gone
    again = Desk(tmp_path, attempt=2)
    again.reader.poll()
    kinds = [(type(a), getattr(a, "command_id", None)) for a in again.answers()]
    assert kinds == [(CommandAccepted, "aaaa"), (CommandIgnored, "bbbb")]
    assert again.controls.stop_reason is None
    again.events.close()


def test_a_file_that_is_no_command_is_rejected_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "20260101T000000-cccc.json").write_text('{"command":"BurnDisk","id":"cccc","attempt":1}')
    (desk.folder / ".half.tmp").write_text("{")
    desk.reader.poll()
    desk.reader.poll()
    (answer,) = desk.answers()
    assert isinstance(answer, CommandRejected)
    assert (answer.command_id, answer.problem.code) == ("cccc", "command_unreadable")
    desk.events.close()


@pytest.mark.scenario("S3")
def test_a_second_stop_is_harmless_and_never_turns_saving_back_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.ask(StopRun(id=new_id(), attempt=1, save=False))
    desk.ask(StopRun(id=new_id(), attempt=1))
    assert [type(a) for a in desk.answers()] == [CommandAccepted, CommandAccepted]
    assert desk.controls.stop_reason == "asked"
    assert not desk.controls.save_at_stop
    desk.events.close()


def test_pausing_twice_and_unpausing_a_running_run_are_rejected(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for command in (UnpauseRun, PauseRun, PauseRun, UnpauseRun):
        desk.ask(command(id=new_id(), attempt=1))
    codes = [a.problem.code if isinstance(a, CommandRejected) else "ok" for a in desk.answers()]
    assert codes == ["not_paused", "ok", "already_paused", "ok"]
    assert not desk.controls.paused
    desk.events.close()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_the_termination_signal_asks_to_stop_and_save() -> None:
    controls = Controls()
    before = signal.getsignal(signal.SIGTERM)
    with termination_stops(controls):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert controls.stop_reason == "terminated"
    assert controls.save_at_stop
    assert signal.getsignal(signal.SIGTERM) is before
