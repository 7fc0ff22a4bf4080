"""What `make demo` concludes from a run's events, and that it opens a window only where a display answers."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.sources import ROOT
from tests.helpers.x_server import x_server


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    spec = importlib.util.spec_from_file_location("demo", ROOT / "packaging" / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _write(path: Path, *events: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def _evaluated(loss: float | None, step: int) -> dict[str, object]:
    return {"event": "EvaluationCompleted", "evaluation_loss": loss, "step": step}


def _sampled(text: str, step: int) -> dict[str, object]:
    return {"event": "SampleGenerated", "prompt": "Why?", "text": text, "step": step}


_FINISHED = {"event": "RunFinished", "seconds": 90.0}


def test_the_first_and_last_evaluation_and_answers_are_compared(demo: ModuleType, tmp_path: Path) -> None:
    outcome = demo.read_outcome(_write(
        tmp_path / "events.jsonl", _evaluated(5.25, 0), _sampled("Because", 0), _evaluated(3.0, 8),
        _sampled("Ahoy", 8), {"event": "ResourcesMeasured", "resident_bytes": 7}, _evaluated(2.25, 16),
        _sampled("Ahoy! Fair winds.", 16), _FINISHED,
    ))  # fmt: skip
    assert outcome.fall == 3.0
    assert outcome.answers_before == {"Why?": "Because"}
    assert outcome.answers_after == {"Why?": "Ahoy! Fair winds."}
    assert (outcome.seconds, outcome.peak_bytes) == (90.0, 7)


@pytest.mark.parametrize(
    "events",
    [
        (_evaluated(5.0, 0), _evaluated(2.0, 9)),  # it did not finish
        (_evaluated(5.0, 0), _FINISHED),  # nothing to compare with
        (_evaluated(5.0, 0), _evaluated(None, 9), _FINISHED),  # the loss was not finite
    ],
)
def test_a_run_without_two_finite_evaluations_is_no_success(demo: ModuleType, tmp_path: Path, events) -> None:
    with pytest.raises(SystemExit, match="did not finish"):
        demo.read_outcome(_write(tmp_path / "events.jsonl", *events))


def test_a_display_is_believed_only_when_it_answers(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":4242")
    assert not demo.display_answers()
    monkeypatch.delenv("DISPLAY")
    assert not demo.display_answers()
    with x_server() as environment:
        monkeypatch.setenv("DISPLAY", environment["DISPLAY"])
        assert demo.display_answers()
        monkeypatch.setenv("ANNEAL_NO_WINDOW", "1")
        assert not demo.display_answers()
