"""Commands to a live run: ask, wait for the answer, tell it."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from engine.protocol.errors import Problem
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.runs.commands import ANSWERS
from studio.runs.rows import EventRow, RunRow


def ask_and_wait(
    studio: Studio, row: RunRow, action: Callable[[str], str], output: Output, *, wait_seconds: float
) -> ExitCode:
    """DONE where the engine accepted, REFUSED where it did not, SURROUNDINGS where it did not answer in time."""
    command = action(row.id)
    deadline = time.monotonic() + wait_seconds
    while time.monotonic() < deadline:
        studio.runs.refresh()
        answer = _answer(studio.store.events(row.id, after=row.last_sequence, kinds=ANSWERS), command)
        if answer is not None:
            return _tell(row, answer, output)
        time.sleep(0.05)
    output.note("Asked; the engine has not answered yet.")
    output.result({"run": row.id, "command": command, "answer": None})
    return ExitCode.SURROUNDINGS


class _Answer(msgspec.Struct):
    event: str
    command_id: str
    command: str
    problem: Problem | None = None
    reason: str = ""


def _answer(rows: list[EventRow], command: str) -> _Answer | None:
    answers = [msgspec.json.decode(row.content, type=_Answer) for row in rows]
    return next((answer for answer in answers if answer.command_id == command), None)


def _tell(row: RunRow, answer: _Answer, output: Output) -> ExitCode:
    output.result({"run": row.id, "command": answer.command_id, "answer": answer.event, "problem": answer.problem})
    if answer.event == "CommandAccepted":
        output.text(f"{row.name or row.id}: accepted.")
        return ExitCode.DONE
    if answer.problem is not None:
        output.problems([answer.problem])
    else:
        output.note(f"Not done: {answer.reason}.")
    return ExitCode.REFUSED
