"""`make demo`: fine-tune a real model on our own rows through the detached engine, and show what changed.

    model (converted once) ─► anneal train --detach ─► anneal watch ─► events.jsonl: losses, samples ─► anneal export ×2
                                      └─► the window, beside it, if a display answers

Everything lies in `.demo-home`. Exit status: 0 when the evaluation loss fell by MARGIN; 1 when it did not; otherwise
that of the command that failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import demo_model

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".demo-home"
MODEL = HOME / "models" / "SmolLM2-135M-Instruct"
RECIPE = ROOT / "resources" / "demo" / "recipe.yaml"
# The loss falls by about 3.0 nats. Between seeds the result differs by a few hundredths, so that a fall of one nat is
# far outside of chance and yet leaves room for other processors' arithmetic.
MARGIN = 1.0
_DISPLAY_PATIENCE_SECONDS = 3.0


def _environment() -> dict[str, str]:
    """The user's own, but with every home and cache inside the checkout."""
    own = {"ANNEAL_HOME": HOME, "HF_HOME": HOME / "huggingface", "XDG_CACHE_HOME": HOME / "cache" / "desktop"}
    return {**os.environ, **{name: str(path) for name, path in own.items()}, "PYTHONUNBUFFERED": "1"}


def _anneal(*arguments: str, capture: bool = False) -> str:
    """Run one `anneal` command; its progress goes to our terminal. Leaves with its exit status when it fails."""
    command = [sys.executable, "-m", "studio.cli", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=_environment(), text=True, encoding="utf-8", stdout=subprocess.PIPE if capture else None
    )
    if done.returncode != 0:
        print(f"\n`anneal {' '.join(arguments)}` ended with status {done.returncode}.", file=sys.stderr)
        raise SystemExit(done.returncode)
    return done.stdout or ""


def display_answers() -> bool:
    """Whether a window can be opened. A process tries: a DISPLAY that is set proves nothing, and Qt aborts without."""
    if os.environ.get("ANNEAL_NO_WINDOW") == "1" or os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal"):
        return False
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    probe = "from PySide6.QtGui import QGuiApplication; import sys; QGuiApplication([]); sys.exit(0)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", probe], env=_environment(), capture_output=True, timeout=_DISPLAY_PATIENCE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _open_window() -> None:
    """Beside the demo and not part of it: closing either leaves the other alone."""
    subprocess.Popen(
        [sys.executable, "-m", "ui", "--go", "live"], cwd=ROOT, env=_environment(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    print("The window is opening beside this on the same run (ANNEAL_NO_WINDOW=1 forbids it).")


@dataclass(frozen=True)
class Outcome:
    """What the run's own events say. Losses in nats per trained token; samples by prompt."""

    loss_before: float
    loss_after: float
    answers_before: dict[str, str]
    answers_after: dict[str, str]
    seconds: float
    peak_bytes: int

    @property
    def fall(self) -> float:
        return self.loss_before - self.loss_after


def read_outcome(events: Path) -> Outcome:
    """Read a finished run's events. Raises SystemExit where the run did not finish or never evaluated."""
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    losses = [line["evaluation_loss"] for line in lines if line["event"] == "EvaluationCompleted"]
    finished = [line for line in lines if line["event"] == "RunFinished"]
    if not finished or len(losses) < 2 or None in losses:
        raise SystemExit(f"The run did not finish with a finite evaluation before and after. Its events: {events}")
    samples = [line for line in lines if line["event"] == "SampleGenerated"]
    last = max((sample["step"] for sample in samples), default=0)
    return Outcome(
        loss_before=losses[0],
        loss_after=losses[-1],
        answers_before={sample["prompt"]: sample["text"] for sample in samples if sample["step"] == 0},
        answers_after={sample["prompt"]: sample["text"] for sample in samples if sample["step"] == last},
        seconds=finished[-1]["seconds"],
        peak_bytes=max((line["resident_bytes"] for line in lines if line["event"] == "ResourcesMeasured"), default=0),
    )


def _report(outcome: Outcome, adapter: Path, merged: Path) -> None:
    print(f"\nEvaluation loss  {outcome.loss_before:.3f} before, {outcome.loss_after:.3f} after")
    print(f"Training         {outcome.seconds / 60:.1f} minutes, {outcome.peak_bytes / 1e9:.1f} GB of memory at most")
    for prompt, before in outcome.answers_before.items():
        print(f"\n  {prompt}")
        print(f"    before  {' '.join(before.split())}")
        print(f"    after   {' '.join(outcome.answers_after[prompt].split())}")
    print(f"\nAdapter          {adapter}\nMerged model     {merged}")
    print(f"See it again     ANNEAL_HOME='{HOME}' make run")


def main() -> int:
    demo_model.ensure(MODEL)
    launched = json.loads(_anneal("train", str(RECIPE), "--detach", "--json", capture=True))
    run = str(launched["id"])
    if display_answers():
        _open_window()
    try:
        _anneal("watch", run)
    except KeyboardInterrupt:
        print(f"\nThe run goes on without you. To stop it: ANNEAL_HOME='{HOME}' .venv/bin/anneal stop {run}")
        return 130
    outcome = read_outcome(HOME / "runs" / run / "events.jsonl")
    exports = HOME / "exports"
    adapter, merged = exports / f"{run}-adapter", exports / f"{run}-merged"
    for kind, folder in (("peft", adapter), ("merged", merged)):
        _anneal("export", run, "--format", kind, "--out", str(folder))
    _report(outcome, adapter, merged)
    if outcome.fall < MARGIN:
        print(f"\nThe evaluation loss fell by {outcome.fall:.3f}; {MARGIN} was expected.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
