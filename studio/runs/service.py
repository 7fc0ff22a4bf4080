"""Everything that can be asked of runs. Every launch of the app goes through `RunService.launch`.

recipe + plan ─► run folder ─► detached engine ─► events.jsonl ─► refresh() ─► RunStore
                                    ▲
         pause, checkpoint, stop ───┘  (command files)
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from engine.protocol import commands as c
from engine.protocol import heartbeat
from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.folder import RunFolder
from engine.protocol.plan import Plan, decode_plan
from engine.protocol.recipe import Recipe, parse_recipe
from studio.environment import child_environment, module_command
from studio.home import Home
from studio.runs import commands, deletion
from studio.runs.exit_file import Exit
from studio.runs.ingest import Changes, Ingester
from studio.runs.launching import default_name, make_run_folder, refuse_bad
from studio.runs.liveness import EngineLiveness
from studio.runs.process import Children, end_tree, start_detached
from studio.runs.reconcile import lost_reason
from studio.runs.rows import RunRow
from studio.runs.store import RunStore
from studio.runs.user_file import Parent, UserData, change_user
from studio.settings import Settings

STOP_PATIENCE_SECONDS = 300.0
"""How long a stop may take (finish the step, save) before the engine's processes are ended."""

ENDING_SECONDS = 10.0
"""How long a resume waits for an engine that has said its last word and has not ended yet."""

ENGINE_COMMAND: tuple[str, ...] = tuple(module_command("engine"))


class RunService:
    """Launches, adopts and commands runs of one home. Safe to call from several threads; `close` when done.

    `engine_command` is what `train --run DIR` is appended to: tests give a stand-in.
    """

    def __init__(
        self,
        home: Home,
        store: RunStore,
        settings: Callable[[], Settings],
        *,
        environment: Mapping[str, str] | None = None,
        engine_command: Sequence[str] = ENGINE_COMMAND,
    ) -> None:
        self._home = home
        self._store = store
        self._settings = settings
        self._inherited = os.environ if environment is None else environment
        self._engine_command = list(engine_command)
        self._children = Children()
        self._liveness = EngineLiveness(self._children)
        self._ingester = Ingester(home, self._liveness)
        self._turn = threading.RLock()
        self._launched: dict[str, str] = {}
        self._resumed_from: dict[str, int] = {}
        self._stop_deadlines: dict[str, float] = {}
        self._fingerprints: dict[str, int] = {}
        self._data_version = -1

    def close(self) -> None:
        """Stop watching. Engines go on."""
        with self._turn:
            self._children.let_go()
            self._ingester.close()

    # --- watching

    def refresh(self) -> Changes:
        """Take in what is new (a few milliseconds when nothing is). Call it some times a second, off the GUI thread.
        What this process did itself is seen by the next call; see `Ingester.refresh` for the rest.

        Where another process of this home ingests, its work is looked at instead.
        """
        with self._turn:
            self._enforce_stops()
            if self._ingester.acquire():
                return self._ingester.refresh()
            return self._read_what_others_wrote()

    def is_alive(self, run_id: str) -> bool:
        """Whether an engine works on the run, or is about to."""
        return self._liveness.is_alive(self._home.run(run_id))

    def asked(self, run_id: str) -> list[commands.Asked]:
        """Commands without an answer yet."""
        return commands.open_commands(self._home.run(run_id), self._store.events(run_id, kinds=commands.ANSWERS))

    def recipe(self, run_id: str) -> Recipe:
        """The recipe that was launched, whatever a form shows by now. Also what Clone fills a form with."""
        return parse_recipe(self._home.run(run_id).recipe.read_text("utf-8"))

    def plan(self, run_id: str) -> Plan:
        """The plan that was launched, with everything in it. Raises OSError, msgspec.ValidationError."""
        return decode_plan(self._home.run(run_id).plan.read_bytes())

    def folder(self, run_id: str) -> RunFolder:
        return self._home.run(run_id)

    # --- launching

    def launch(
        self, recipe: Recipe, plan: Plan, *, token: str, name: str | None = None,
        tags: tuple[str, ...] = (), notes: str = "", parent: Parent | None = None,
    ) -> str:  # fmt: skip
        """Make the run folder and start the engine. Returns the run's id.

        Args:
            token: names this one wish to launch (`secrets.token_hex`); the same token again returns the same run, so
                a button pressed twice starts once.

        Raises ProblemsError with everything that forbids it, OSError where the folder cannot be written, and
        SurroundingsError("launch.failed") where the process cannot be started.
        """
        with self._turn:
            if token in self._launched:
                return self._launched[token]
            refuse_bad(recipe, plan)
            user = UserData(name or default_name(recipe), tuple(sorted(set(tags))), notes, parent=parent)
            folder = make_run_folder(self._home, recipe, plan, user)
            try:
                self._start(folder)
            except SurroundingsError:
                deletion.remove(folder)
                raise
            self._launched[token] = folder.id
            return folder.id

    def resume(self, run_id: str) -> None:
        """Go on from the newest checkpoint, as the run's next attempt. Resuming a run that is alive does nothing.

        An engine that is just ending is waited for, up to ENDING_SECONDS. Raises SurroundingsError: "run.elsewhere",
        "run.finished", "run.ending", "run.no_checkpoint", "launch.failed".
        """
        folder = self._home.run(run_id)
        commands.refuse_elsewhere(folder)
        self._wait_for_end(folder)
        with self._turn:
            row = self._store.run(run_id)
            if row.status == "finished":
                raise SurroundingsError("run.finished", "This run has finished.", "Clone it to train further.")
            if self._liveness.is_alive(folder):
                if row.is_active or self._resumed_from.get(run_id) == row.attempt:
                    return
                raise SurroundingsError("run.ending", "Its engine is still ending.", "Try again in a moment.")
            if not folder.checkpoints():
                raise SurroundingsError(
                    "run.no_checkpoint", "This run has no checkpoint to resume from.", "Clone it and launch again."
                )
            self._resumed_from[run_id] = row.attempt
            self._start(folder)

    def _wait_for_end(self, folder: RunFolder) -> None:
        deadline = time.monotonic() + ENDING_SECONDS
        while time.monotonic() < deadline:
            row = self._store.run(folder.id)
            resumed = self._resumed_from.get(folder.id) == row.attempt
            if row.is_active or resumed or not self._liveness.is_alive(folder):
                return
            time.sleep(0.02)

    def start_failure(self, run_id: str) -> Problem | None:
        """Why the last resume by this process came to nothing: its engine ended before it said a word. The run itself
        stays as it was, and can be resumed again."""
        with self._turn:
            folder, attempt = self._home.run(run_id), self._resumed_from.get(run_id)
            exit_code = self._children.exit_code(run_id)
            if attempt is None or exit_code is None:
                return None
            row = self._store.run(run_id)
            return lost_reason(row, folder, Exit(attempt, exit_code)) if row.attempt == attempt else None

    # --- commands

    def pause(self, run_id: str) -> str:
        """Finish the step and wait. Returns the command's id, as the following do; see `commands.ask` for errors."""
        return commands.ask(self._home.run(run_id), c.PauseRun)

    def unpause(self, run_id: str) -> str:
        """Go on after a pause."""
        return commands.ask(self._home.run(run_id), c.UnpauseRun)

    def checkpoint(self, run_id: str) -> str:
        """Save a checkpoint after the current step."""
        return commands.ask(self._home.run(run_id), c.SaveCheckpoint)

    def stop(self, run_id: str, *, save: bool = True, patience_seconds: float = STOP_PATIENCE_SECONDS) -> str:
        """Finish the step, save and end. If that takes longer than the patience, `refresh` ends the processes."""
        with self._turn:
            command = commands.ask(self._home.run(run_id), c.StopRun, save=save)
            self._stop_deadlines.setdefault(run_id, time.monotonic() + patience_seconds)
            return command

    def end_now(self, run_id: str, *, patience_seconds: float = 5.0) -> bool:
        """End the engine and all its descendants, without saving. Returns whether all are gone."""
        folder = self._home.run(run_id)
        commands.refuse_elsewhere(folder)
        beat = heartbeat.read_heartbeat(folder.heartbeat)
        pid = self._children.pid(run_id)
        if pid is not None:
            return end_tree(pid, heartbeat.start_ticks(pid), patience_seconds=patience_seconds)
        return beat is None or end_tree(beat.pid, beat.start_ticks, patience_seconds=patience_seconds)

    # --- what a person says of a run

    def change(self, run_id: str, **values: object) -> UserData:
        """Change name, tags, notes, votes or archived. Raises SurroundingsError for a run of another host."""
        with self._turn:
            folder = self._home.run(run_id)
            if not folder.path.is_dir():
                raise SurroundingsError("run.unknown", f"There is no run {run_id}.", "List them with `anneal runs`.")
            commands.refuse_elsewhere(folder)
            self._ingester.look_at(run_id)
            return change_user(folder, **values)

    def review_deletion(self, run_ids: Sequence[str]) -> list[deletion.Deletion]:
        """What deleting would remove, and what forbids it."""
        return [deletion.review(self._home.run(run_id), self.is_alive(run_id)) for run_id in run_ids]

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete these runs with their checkpoints; exports lie elsewhere and stay. Raises SurroundingsError if one
        is alive or another host's, before anything is deleted."""
        with self._turn:
            for item in self.review_deletion(run_ids):
                if item.forbidden is not None:
                    raise SurroundingsError(item.forbidden.code, item.forbidden.message, item.forbidden.remedy)
            for run_id in run_ids:
                deletion.remove(self._home.run(run_id))

    def row(self, run_id: str) -> RunRow:
        """The run as the history has it now."""
        return self._store.run(run_id)

    # --- inside

    def _start(self, folder: RunFolder) -> None:
        self._liveness.launched(folder)
        self._ingester.look_at(folder.id)
        try:
            process = start_detached(
                [*self._engine_command, "train", "--run", str(folder.path)],
                environment=child_environment(self._inherited, self._settings(), home=self._home.root),
                log=folder.engine_log,
                folder=folder.path,
            )
        except OSError as error:
            raise SurroundingsError(
                "launch.failed", f"The engine could not be started: {error}.", "Look at `anneal doctor`."
            ) from error
        self._children.add(folder.id, process)

    def _enforce_stops(self) -> None:
        for run_id, deadline in list(self._stop_deadlines.items()):
            if not self.is_alive(run_id):
                del self._stop_deadlines[run_id]
            elif time.monotonic() > deadline:
                del self._stop_deadlines[run_id]
                self.end_now(run_id, patience_seconds=2.0)  # it has had its time

    def _read_what_others_wrote(self) -> Changes:
        version = self._store.data_version()
        if version == self._data_version:
            return Changes()
        now = self._store.fingerprints()
        before, self._fingerprints, self._data_version = self._fingerprints, now, version
        changed = frozenset(run for run, mark in now.items() if before.get(run) != mark)
        return Changes(changed, frozenset(before) - frozenset(now))
