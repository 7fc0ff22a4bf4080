from __future__ import annotations

import typing

import msgspec
import pytest

from engine.protocol import events as module
from engine.protocol.codec import to_line, utc_now
from engine.protocol.commands import PauseRun, StopRun, decode_command, new_id, send
from engine.protocol.events import KnownEvent, RunPaused, StepCompleted, UnknownEvent, decode_event

HEAD = {"sequence": 7, "attempt": 2, "step": 3, "time_utc": "2026-12-01T00:00:00.000Z", "elapsed_seconds": 1.5}


def step_completed(**changes: object) -> StepCompleted:
    content = {
        **HEAD, "loss": 1.5, "learning_rate": 1e-4, "grad_norm": 0.7, "tokens": 512, "trained_tokens": 200,
        "tokens_per_second": 99.0, "step_seconds": 5.0, "epoch": 0.25, **changes,
    }  # fmt: skip
    return msgspec.convert(content | {"event": "StepCompleted"}, StepCompleted)


def test_one_event_is_one_line_and_comes_back_equal() -> None:
    event = step_completed(metrics={"clip": 0.5})
    line = to_line(event)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode_event(line) == event


def test_every_event_class_is_known_to_the_reader() -> None:
    classes = {
        c for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, module.Event) and c not in (module.Event, UnknownEvent)
    }  # fmt: skip
    assert classes == set(typing.get_args(KnownEvent))


def test_an_event_of_a_newer_release_is_kept_whole() -> None:
    line = msgspec.json.encode({"event": "ExpertBalanced", **HEAD, "version": 9, "shares": [0.5, 0.5]})
    event = decode_event(line)
    assert isinstance(event, UnknownEvent)
    assert (event.name, event.sequence, event.step, event.version) == ("ExpertBalanced", 7, 3, 9)
    assert event.content["shares"] == [0.5, 0.5]


def test_fields_added_later_do_not_disturb_an_older_reader() -> None:
    line = msgspec.json.encode({"event": "RunPaused", **HEAD, "why": "asked"})
    assert isinstance(decode_event(line), RunPaused)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[1]",
        b'{"sequence": 1}',
        b"\xff\xfe",
        b'{"event":"X","a":' * 50_000,
        msgspec.json.encode({"event": "RunPaused", **HEAD}).replace(b'"step":', b'"step":99999999999999999999'),
    ],
    ids=["empty", "cut", "list", "headless", "bytes", "deep", "huge"],
)
def test_what_is_no_event_raises_and_nothing_else(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_event(line)


def test_a_loss_that_is_not_finite_becomes_null() -> None:
    decoded = decode_event(to_line(step_completed(loss=None)))
    assert isinstance(decoded, StepCompleted) and decoded.loss is None
    assert b"null" in to_line(msgspec.structs.replace(step_completed(), loss=float("nan")))


def test_commands_sort_by_the_order_of_asking(tmp_path) -> None:  # type: ignore[no-untyped-def]  # pytest's fixture
    first = PauseRun(id=new_id(), attempt=1)
    second = StopRun(id=new_id(), attempt=1, save=False)
    send(tmp_path, first)
    send(tmp_path, second)
    assert [decode_command(p.read_bytes()) for p in sorted(tmp_path.iterdir())] == [first, second]


def test_times_are_utc_with_milliseconds() -> None:
    assert len(utc_now()) == len("2026-12-01T11:02:03.004Z") and utc_now().endswith("Z")
