"""`engine train`: one attempt at a run, from taking its lock to the exit code.

Whatever happens is said twice: as the last event of the run, and as the last line of the log (standard error), which is
what there is when the process ends before its first event.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from engine.protocol.errors import EngineError, SurroundingsError
from engine.protocol.events import RunStarted, RunStopped
from engine.protocol.folder import RunFolder
from engine.protocol.lock import ProcessLock
from engine.training.attempt import Attempt
from engine.training.command_reader import CommandReader
from engine.training.controls import Controls, termination_stops
from engine.training.event_writer import EventWriter, open_event_log, read_history
from engine.training.outcome import ExitCode, report_failure
from engine.training.redaction import redact
from engine.training.run_files import check_plan, read_plan, read_recipe
from engine.training.watch import StopRequested, Watch


def train_run(path: Path) -> ExitCode:
    """Run one attempt. Never raises for what can go wrong with a run; says it and returns the code."""
    folder = RunFolder(path)
    try:
        if not folder.path.is_dir():
            raise SurroundingsError("run_missing", f"There is no run folder {path}.", "Launch the run again.")
        lock = ProcessLock(folder.engine_lock)
        lock.acquire()
        history = read_history(folder.events)
        events = open_event_log(folder.events, history, attempt=history.last_attempt + 1)
    except (EngineError, OSError) as error:
        print(redact(f"{type(error).__name__}: {error}"), file=sys.stderr, flush=True)
        return ExitCode.FAILED
    try:
        return _attempt_holding_lock(folder, events, history.answered_commands)
    finally:
        lock.release()


def _attempt_holding_lock(folder: RunFolder, events: EventWriter, answered: set[str]) -> ExitCode:
    controls = Controls()
    watch = Watch(
        controls=controls,
        commands=CommandReader(folder.commands, events, answered, controls.handle),
        events=events,
        heartbeat_path=folder.heartbeat,
    )
    with termination_stops(controls):
        try:
            watch.beat()
            code = _train(folder, events, watch)
            watch.close()
        except BaseException as error:
            saved = folder.checkpoints()
            code = report_failure(events, error, saved[-1][0] if saved else None)
        events.sync()
        events.close()
    return code


def _train(folder: RunFolder, events: EventWriter, watch: Watch) -> ExitCode:
    recipe, plan = read_recipe(folder), read_plan(folder)
    check_plan(recipe, plan)
    found = folder.checkpoints()
    resume_from = found[-1][0] if found else None
    events.step = resume_from or 0
    events.write(
        RunStarted(
            **events.stamp(),
            recipe=msgspec.to_builtins(recipe),
            total_steps=plan.timeline.total_steps,
            resumed_from_step=resume_from,
            engine_version=plan.numerics.engine_version,
            device=plan.placement.device,
            pid=os.getpid(),
        )
    )
    try:
        watch.tick()
        from engine.training.prepare import prepare  # torch comes with it: the first event does not wait for that

        prepare(Attempt(folder, recipe, plan, resume_from, events, watch)).train()
    except StopRequested as stop:
        saved = folder.checkpoints()
        step = saved[-1][0] if saved else None
        events.write(RunStopped(**events.stamp(), reason=stop.reason, checkpoint_step=step))
        return ExitCode.STOPPED
    return ExitCode.DONE
