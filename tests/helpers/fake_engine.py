"""Stands in for the engine: same lock, heartbeat, events and commands, no training. Run as a script.

What it does beyond that is read from the run's `fake.json`, if the test wrote one:
  steps, step_seconds       how many steps, how long each
  checkpoint_every          a folder with a manifest after so many steps
  exit_before_events        print a line and exit 1
  kill_at                   kill itself with SIGKILL after that step
  tear_at                   write half a line after that step, then SIGKILL
  child                     start a child that sleeps, to see that it is ended too
  deaf                      ignore commands and SIGTERM
  spam_bytes                write so much to standard output a step
  late_seconds              wait so long before taking the lock
  phase_seconds             stay in the first phase so long, obeying commands
  nan_at                    a loss that is not finite at that step
  evaluate_every            an evaluation and a sample after so many steps
  measure                   memory and CPU after each step
  environment               write the environment to environment.json
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from engine.protocol import events as e
from engine.protocol.codec import utc_now
from engine.protocol.commands import PauseRun, SaveCheckpoint, StopRun, UnpauseRun, decode_command
from engine.protocol.folder import RunFolder
from engine.protocol.heartbeat import Heartbeat, boot_id, host, start_ticks, write_heartbeat
from engine.protocol.lock import ProcessLock
from engine.protocol.recipe import parse_recipe, resolve


class FakeEngine:
    def __init__(self, folder: RunFolder, options: dict[str, float]) -> None:
        self.folder = folder
        self.options = options
        self.sequence, self.attempt = 0, 1
        self.step = 0
        self.began = time.monotonic()
        self.seen: set[str] = set()
        self.paused = False
        self._history()
        self.file = folder.events.open("ab")

    def _history(self) -> None:
        if self.folder.events.exists():
            raw = self.folder.events.read_bytes()
            for line in raw.splitlines():
                try:
                    event = e.decode_event(line)
                except msgspec.DecodeError:
                    continue
                self.sequence, self.attempt = event.sequence, event.attempt + 1
                if isinstance(event, e.CommandAccepted | e.CommandIgnored):
                    self.seen.add(event.command_id)
            if not raw.endswith(b"\n"):
                with self.folder.events.open("ab") as file:
                    file.write(b"\n")

    def write(self, kind: type[e.Event], **fields: Any) -> None:  # Any: whatever that event holds
        self.sequence += 1
        elapsed = round(time.monotonic() - self.began, 6)
        event = kind(
            sequence=self.sequence, attempt=self.attempt, step=self.step, time_utc=utc_now(),
            elapsed_seconds=elapsed, **fields,
        )  # fmt: skip
        self.file.write(msgspec.json.encode(event) + b"\n")
        self.file.flush()

    def beat(self) -> None:
        pid = os.getpid()
        write_heartbeat(
            self.folder.heartbeat,
            Heartbeat(
                host=host(), boot_id=boot_id(), pid=pid, start_ticks=start_ticks(pid), attempt=self.attempt,
                step=self.step, time_utc=utc_now(),
            ),
        )  # fmt: skip

    def checkpoint(self, reason: str) -> None:
        folder = self.folder.checkpoint(self.step)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "manifest.json").write_text("{}")
        self.write(
            e.CheckpointSaved, path=f"checkpoints/{folder.name}", sha256="0" * 64, size_bytes=2, seconds=0.0,
            reason=reason,
        )  # fmt: skip

    def train(self, total: int) -> None:
        standing = self.folder.checkpoints()
        resumed = standing[-1][0] if standing else None
        self.step = resumed or 0
        self.beat()
        recipe = resolve(parse_recipe(self.folder.recipe.read_text()))
        self.write(
            e.RunStarted, recipe=msgspec.to_builtins(recipe), total_steps=total, resumed_from_step=resumed,
            engine_version="fake", device="cpu", pid=os.getpid(),
        )  # fmt: skip
        self.write(e.PhaseStarted, phase="reading_model")
        if self._hold(self.options.get("phase_seconds", 0.0)):
            return
        self.write(e.PhaseCompleted, phase="reading_model", seconds=0.0)
        self.write(e.TrainingStarted, total_steps=total, steps_per_epoch=float(total))
        while self.step < total:
            if self._commands():
                return
            if self.paused:
                time.sleep(0.01)
                continue
            self._one_step(total)
        self.write(
            e.RunFinished, final_loss=1.0 / total, best_evaluation_loss=None, best_step=None,
            trained_tokens=100 * total, seconds=time.monotonic() - self.began,
        )  # fmt: skip

    def _hold(self, seconds: float) -> bool:
        """Be in a phase for a while. Whether the run was ended meanwhile."""
        until = time.monotonic() + seconds
        while seconds and time.monotonic() < until:
            self.write(e.PhaseProgressed, phase="reading_model", done=1, total=4, unit="bytes", remaining_seconds=9.0)
            if self._commands():
                return True
            time.sleep(0.02)
        return False

    def _one_step(self, total: int) -> None:
        time.sleep(self.options.get("step_seconds", 0.0))
        self.step += 1
        bad = self.options.get("nan_at") == self.step
        if bad:
            self.write(e.NonFiniteSeen, quantity="loss", action="skipped")
        self.write(
            e.StepCompleted, loss=None if bad else 1.0 / self.step, learning_rate=1e-4,
            grad_norm=None if bad else 1.0, tokens=100, trained_tokens=100, tokens_per_second=1000.0,
            step_seconds=0.1, epoch=self.step / total, applied=not bad,
        )  # fmt: skip
        self._beside_the_steps()
        self.beat()
        if spam := int(self.options.get("spam_bytes", 0)):
            sys.stdout.write("x" * spam + "\n")
        if (every := int(self.options.get("checkpoint_every", 0))) and self.step % every == 0:
            self.checkpoint("schedule")
        if self.options.get("tear_at") == self.step:
            self.file.write(b'{"event":"StepCompleted","sequence":')
            self.file.flush()
        if self.step in (self.options.get("kill_at"), self.options.get("tear_at")):
            os.kill(os.getpid(), signal.SIGKILL)

    def _beside_the_steps(self) -> None:
        if self.options.get("measure"):
            self.write(
                e.ResourcesMeasured, memory_bytes={"weights": 1000}, planned_bytes={"weights": 1024},
                resident_bytes=2000, cpu_percent=95.0,
            )  # fmt: skip
        if (every := int(self.options.get("evaluate_every", 0))) and self.step % every == 0:
            self.write(
                e.EvaluationCompleted, evaluation_loss=2.0 / self.step, accuracy=None, trained_tokens=10, seconds=0.1
            )
            self.write(
                e.SampleGenerated, index=0, prompt="Why?", text=f"Because {self.step}.", new_tokens=2, seconds=0.1
            )

    def _commands(self) -> bool:
        """Whether the run shall end."""
        if self.options.get("deaf"):
            return False
        for path in sorted(self.folder.commands.glob("*.json")):
            command = decode_command(path.read_bytes())
            if command.id in self.seen:
                continue
            self.seen.add(command.id)
            name = type(command).__name__
            if command.attempt != self.attempt:
                self.write(e.CommandIgnored, command_id=command.id, command=name, reason="attempt")
                continue
            self.write(e.CommandAccepted, command_id=command.id, command=name)
            match command:
                case StopRun():
                    if command.save:
                        self.checkpoint("stop")
                    self.write(e.RunStopped, reason="asked", checkpoint_step=self.step if command.save else None)
                    return True
                case PauseRun():
                    self.paused = True
                    self.write(e.RunPaused)
                case UnpauseRun():
                    self.paused = False
                    self.write(e.RunUnpaused)
                case SaveCheckpoint():
                    self.checkpoint("asked")
        return False


def main() -> None:
    folder = RunFolder(Path(sys.argv[sys.argv.index("--run") + 1]))
    source = next((p for p in (folder.path / "fake.json", folder.path.parent.parent / "fake.json") if p.exists()), None)
    options = json.loads(source.read_text()) if source else {}
    print("fake engine begins", flush=True)
    if options.get("exit_before_events"):
        print("ImportError: the moon is in the wrong phase", flush=True)
        raise SystemExit(1)
    if options.get("environment"):
        (folder.path / "environment.json").write_text(json.dumps(dict(os.environ)))
    if options.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.get("child"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (folder.path / "child.pid").write_text(str(child.pid))
    time.sleep(options.get("late_seconds", 0.0))
    lock = ProcessLock(folder.engine_lock)
    lock.acquire()
    FakeEngine(folder, options).train(int(options.get("steps", 5)))


if __name__ == "__main__":
    main()
