"""Answers of a run's checkpoint or of a model, as they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from studio.engine_job import EngineJob, new_log
from studio.home import Home
from studio.runs.service import ENGINE_COMMAND


class Generation:
    """Starts `engine generate`. Its events are `TextGenerated`: pieces, and with `done` the whole answer."""

    def __init__(
        self, home: Home, environment: Callable[[], Mapping[str, str]], engine_command: Sequence[str] = ENGINE_COMMAND
    ) -> None:
        self._home = home
        self._environment = environment
        self._engine_command = list(engine_command)

    def from_run(
        self, run_id: str, prompts: Sequence[str], *, checkpoint: str = "best", new_tokens: int = 128
    ) -> EngineJob:
        """Answer with a checkpoint ("best", "last", "base" for the untuned model, or a step) of a run."""
        return self._start(["--run", str(self._home.run(run_id).path), "--checkpoint", checkpoint], prompts, new_tokens)

    def from_model(self, folder: Path, prompts: Sequence[str], *, new_tokens: int = 128) -> EngineJob:
        """Answer with a model folder."""
        return self._start(["--model", str(folder)], prompts, new_tokens)

    def _start(self, source: list[str], prompts: Sequence[str], new_tokens: int) -> EngineJob:
        asked = [f"--prompt={prompt}" for prompt in prompts]  # one argument: a prompt may begin with a dash
        return EngineJob(
            [*self._engine_command, "generate", *source, *asked, "--max-tokens", str(new_tokens)],
            environment=self._environment(),
            log=new_log(self._home.logs, "generate"),
            keep_log=False,
        )
