"""Work off the GUI thread: where callbacks run, what is never delivered, and that nothing stays behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from ui.bridge import Control, Latest, Tasks


@pytest.fixture
def tasks(qtbot: QtBot) -> Iterator[Tasks]:
    made = Tasks()
    yield made
    made.close()


def test_result_and_progress_arrive_on_the_gui_thread(qtbot: QtBot, tasks: Tasks) -> None:
    seen: list[object] = []
    here = threading.get_ident()

    def work(control: Control) -> int:
        assert threading.get_ident() != here
        control.progress("half")
        return 7

    def note(value: object) -> None:
        assert threading.get_ident() == here
        seen.append(value)

    tasks.run(work, on_result=note, on_progress=note)
    qtbot.waitUntil(lambda: seen == ["half", 7])
    assert tasks.idle


def test_an_error_reaches_the_view(qtbot: QtBot, tasks: Tasks) -> None:
    errors: list[Exception] = []

    def work(control: Control) -> None:
        raise ValueError("no")

    tasks.run(work, on_error=errors.append)
    qtbot.waitUntil(lambda: len(errors) == 1)
    assert isinstance(errors[0], ValueError)


def test_touched_names_are_told_after_success(qtbot: QtBot, tasks: Tasks) -> None:
    with qtbot.waitSignal(tasks.changed) as told:
        tasks.run(lambda control: 1, touches=("runs", "settings"))
    assert told.args == [frozenset({"runs", "settings"})]


def test_nothing_is_delivered_after_cancel_or_to_a_dead_owner(qtbot: QtBot, tasks: Tasks) -> None:
    gate, seen = threading.Event(), []
    owner = QObject()

    def work(control: Control) -> str:
        gate.wait(5)
        return "late"

    cancelled = tasks.run(work, on_result=seen.append)
    tasks.run(work, owner=owner, on_result=seen.append)
    cancelled.cancel()
    import shiboken6

    shiboken6.delete(owner)
    gate.set()
    qtbot.waitUntil(lambda: tasks.idle)
    assert seen == []


def test_latest_request_wins(qtbot: QtBot, tasks: Tasks) -> None:
    owner, seen, started = QObject(), [], []
    latest = Latest(tasks, owner)
    gate = threading.Event()

    def slow(control: Control) -> str:
        started.append("slow")
        gate.wait(5)
        return "slow"

    latest.request(slow, seen.append)
    qtbot.waitUntil(lambda: started == ["slow"])
    latest.request(lambda control: "fast", seen.append)
    qtbot.waitUntil(lambda: seen == ["fast"])
    gate.set()
    qtbot.waitUntil(lambda: tasks.idle)
    assert seen == ["fast"] and not latest.pending


def test_fast_requests_are_not_even_started(qtbot: QtBot, tasks: Tasks) -> None:
    owner, ran, seen = QObject(), [], []
    latest = Latest(tasks, owner, delay=30)

    def asking(letter: str) -> None:
        def work(control: Control) -> str:
            ran.append(letter)
            return letter

        latest.request(work, seen.append)

    for letter in "abc":
        asking(letter)
    qtbot.waitUntil(lambda: seen == ["c"])
    assert ran == ["c"]


def test_repeat_never_overlaps_and_stops(qtbot: QtBot, tasks: Tasks) -> None:
    owner, seen = QObject(), []
    inside, most = [0], [0]

    def work(control: Control) -> int:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threading.Event().wait(0.02)
        inside[0] -= 1
        return 1

    repeat = tasks.every(5, work, seen.append, owner)
    qtbot.waitUntil(lambda: len(seen) >= 3)
    repeat.stop()
    count = len(seen)
    qtbot.wait(40)
    assert most[0] == 1 and len(seen) == count


def test_close_waits_for_the_threads_and_refuses_more(qtbot: QtBot) -> None:
    tasks = Tasks()
    done: list[bool] = []

    def work(control: Control) -> None:
        while not control.cancelled:
            threading.Event().wait(0.005)
        done.append(True)

    tasks.run(work)
    qtbot.wait(20)
    tasks.close()
    assert done == [True] and tasks.idle
    with pytest.raises(RuntimeError):
        tasks.run(lambda control: None)
