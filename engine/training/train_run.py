"""`engine train`: one attempt at a run, from taking its lock to the exit code.

Whatever happens is said twice: as the last event of the run, and as the last line of the log (standard error), which is
what there is when the process ends before its first event.
"""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum
from pathlib import Path

import msgspec

from engine.protocol.codec import is_newer
from engine.protocol.errors import Bug, EngineError, SurroundingsError
from engine.protocol.events import RunFailed, RunStarted, RunStopped
from engine.protocol.folder import RunFolder
from engine.protocol.lock import ProcessLock
from engine.protocol.plan import Plan, decode_plan
from engine.protocol.recipe import ResolvedRecipe, parse_recipe, recipe_hash, resolve
from engine.training.attempt import Attempt
from engine.training.command_reader import CommandReader
from engine.training.controls import Controls, termination_stops
from engine.training.disk_errors import disk_error
from engine.training.event_writer import EventWriter, open_event_log, read_history
from engine.training.memory import as_out_of_memory
from engine.training.redaction import redact
from engine.training.watch import StopRequested, Watch


class ExitCode(IntEnum):
    """What a finished engine process says. 2 is argparse's, for a wrong command line."""

    DONE = 0
    FAILED = 1
    BUG = 3
    STOPPED = 4


def train_run(path: Path) -> ExitCode:
    """Run one attempt. Never raises for what can go wrong with a run; says it and returns the code."""
    folder = RunFolder(path)
    try:
        if not folder.path.is_dir():
            raise SurroundingsError("run_missing", f"There is no run folder {path}.", "Launch the run again.")
        lock = ProcessLock(folder.engine_lock)
        lock.acquire()
    except (EngineError, OSError) as error:
        print(redact(f"{type(error).__name__}: {error}"), file=sys.stderr, flush=True)
        return ExitCode.FAILED
    try:
        return _attempt_holding_lock(folder)
    finally:
        lock.release()


def _attempt_holding_lock(folder: RunFolder) -> ExitCode:
    history = read_history(folder.events)
    events = open_event_log(folder.events, history, attempt=history.last_attempt + 1)
    controls = Controls()
    watch = Watch(
        controls=controls,
        commands=CommandReader(folder.commands, events, history.answered_commands, controls.handle),
        events=events,
        heartbeat_path=folder.heartbeat,
    )
    with termination_stops(controls):
        try:
            watch.beat()
            code = _train(folder, events, watch)
            watch.close()
        except BaseException as error:
            code = _failed(folder, events, error)
        events.sync()
        events.close()
    return code


def _train(folder: RunFolder, events: EventWriter, watch: Watch) -> ExitCode:
    recipe, plan = read_recipe(folder), read_plan(folder)
    _check_plan(recipe, plan)
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


def read_recipe(folder: RunFolder) -> ResolvedRecipe:
    """The run's recipe with every default filled in. Raises SurroundingsError."""
    try:
        text = folder.recipe.read_text(encoding="utf-8")
    except OSError as error:
        raise SurroundingsError(
            "run_incomplete", f"The run's recipe cannot be read: {error.strerror}.", "Launch the run again."
        ) from error
    return resolve(parse_recipe(text))


def read_plan(folder: RunFolder) -> Plan:
    """The run's plan. Raises SurroundingsError("run_incomplete") or ("plan_too_new")."""
    try:
        raw = folder.plan.read_bytes()
        if is_newer(raw):
            raise SurroundingsError("plan_too_new", "The plan is of a newer release.", "Update Anneal Studio.")
        return decode_plan(raw)
    except (OSError, msgspec.DecodeError) as error:
        raise SurroundingsError(
            "run_incomplete", f"The run's plan cannot be read: {error}.", "Plan and launch again."
        ) from error


def _check_plan(recipe: ResolvedRecipe, plan: Plan) -> None:
    if plan.recipe_hash != recipe_hash(recipe):
        raise SurroundingsError(
            "plan_of_another_recipe", "The plan was made for another recipe.", "Plan and launch again."
        )


def _failed(folder: RunFolder, events: EventWriter, error: BaseException) -> ExitCode:
    """Say what ended the attempt, as an event and on the log's last line."""
    trace = redact("".join(traceback.format_exception(error)))
    named = name_error(error)
    saved = folder.checkpoints()
    problem = named.problem()
    problem = msgspec.structs.replace(problem, message=redact(problem.message))
    is_bug = not isinstance(named, SurroundingsError)
    print(trace, file=sys.stderr)
    print(f"{problem.code}: {problem.message} {problem.remedy}".rstrip(), file=sys.stderr, flush=True)
    event = RunFailed(
        **events.stamp(),
        problem=problem,
        is_bug=is_bug,
        checkpoint_step=saved[-1][0] if saved else None,
        traceback=trace if is_bug else "",
    )
    try:
        events.write(event)
    except OSError as disk:
        print(f"The last event could not be written: {disk}", file=sys.stderr, flush=True)
    return ExitCode.BUG if is_bug else ExitCode.FAILED


def name_error(error: BaseException) -> EngineError:
    """Any exception as one of ours: the surroundings' fault where it is known, else a bug."""
    if isinstance(error, EngineError):
        return error
    if (memory := as_out_of_memory(error)) is not None:
        return memory
    if isinstance(error, OSError) and error.errno is not None:
        return disk_error(error, Path(error.filename or "a file of the run"))
    return Bug("unexpected", f"{type(error).__name__}: {error}", "This is a fault of Anneal Studio: please report it.")
