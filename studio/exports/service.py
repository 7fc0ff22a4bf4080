"""Exporting a checkpoint. The engine writes, checks itself, and appends what came of it to `exports.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from engine.protocol.errors import SurroundingsError
from engine.protocol.lock import is_held
from studio.engine_job import EngineJob, new_log
from studio.home import Home
from studio.runs.rows import ExportRow, RunRow
from studio.runs.service import ENGINE_COMMAND
from studio.runs.store import RunStore

ExportFormat = Literal["peft", "merged"]


class ExportService:
    """Starts `engine export`. Progress comes as events of the job; results stand in `RunStore.exports`.

    `default_folder` is asked for each export that names no place.
    """

    def __init__(
        self,
        home: Home,
        store: RunStore,
        environment: Callable[[], Mapping[str, str]],
        default_folder: Callable[[], Path],
        engine_command: Sequence[str] = ENGINE_COMMAND,
    ) -> None:
        self._home = home
        self._store = store
        self._environment = environment
        self._default_folder = default_folder
        self._engine_command = list(engine_command)

    def start(self, run: RunRow, kind: ExportFormat, *, checkpoint: str = "best", out: Path | None = None) -> EngineJob:
        """Begin to export a checkpoint ("best", "last" or a step) into `out`, or into a new folder of ours.

        Raises SurroundingsError: "export.no_checkpoint", "export.not_lora", "engine.not_started". The job's problem
        tells what failed later: no disk, a target that is not empty, a self-test that is red.
        """
        self.refuse_impossible(run, kind)
        target = (out or self.propose_folder(run, kind, checkpoint)).expanduser().absolute()
        return EngineJob(
            [
                *self._engine_command, "export", "--run", str(self._home.run(run.id).path), "--checkpoint", checkpoint,
                "--format", kind, "--out", str(target),
            ],
            environment=self._environment(),
            log=new_log(self._home.logs, "export"),
        )  # fmt: skip

    def rows(self, run_id: str | None = None) -> list[ExportRow]:
        """Exports of one run or of all, newest first; one whose process has gone before its end is "interrupted"."""
        return [self._settled(row) for row in self._store.exports(run_id)]

    def _settled(self, row: ExportRow) -> ExportRow:
        if row.state not in ("writing", "written") or is_held(self._home.run(row.run).path / "exports.lock"):
            return row
        return msgspec.structs.replace(row, state="interrupted")

    def refuse_impossible(self, run: RunRow, kind: ExportFormat) -> None:
        """Raise what is known to fail before it is tried."""
        if run.checkpoint_step is None:
            raise SurroundingsError(
                "export.no_checkpoint", "This run has no checkpoint yet.", "Wait for one, or save one now."
            )
        if kind == "peft" and run.method != "lora":
            raise SurroundingsError(
                "export.not_lora", "Only a LoRA run has an adapter to export.", "Export the merged model."
            )

    def propose_folder(self, run: RunRow, kind: ExportFormat, checkpoint: str, *, parent: Path | None = None) -> Path:
        """A folder that does not exist yet, named after the run, the checkpoint and the format, in `parent` or ours."""
        stem = re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or run.id
        base = (parent or self._default_folder()) / f"{stem}-{checkpoint}-{kind}"
        path, number = base, 1
        while path.exists():
            number += 1
            path = base.with_name(f"{base.name}-{number}")
        return path
