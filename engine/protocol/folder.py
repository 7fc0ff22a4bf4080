"""The run folder: where each thing of one run lies. The run folder is the truth; databases are only indexes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunFolder:
    """Paths of one run. Nothing here touches the disk except `create` and `checkpoints`."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.yaml"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def user(self) -> Path:
        return self.path / "user.json"

    @property
    def exports(self) -> Path:
        return self.path / "exports.jsonl"

    @property
    def engine_lock(self) -> Path:
        return self.path / "engine.lock"

    @property
    def heartbeat(self) -> Path:
        return self.path / "heartbeat.json"

    @property
    def engine_log(self) -> Path:
        return self.path / "engine.log"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def commands(self) -> Path:
        return self.path / "commands"

    @property
    def checkpoint_root(self) -> Path:
        return self.path / "checkpoints"

    @property
    def samples(self) -> Path:
        return self.path / "samples"

    def checkpoint(self, step: int) -> Path:
        """The folder of the checkpoint made after `step` optimizer steps."""
        return self.checkpoint_root / f"step-{step:08d}"

    def checkpoints(self) -> list[tuple[int, Path]]:
        """(step, folder) of every complete checkpoint, oldest first. Complete means: its manifest is there."""
        found = []
        for folder in sorted(self.checkpoint_root.glob("step-*")):
            number = folder.name.removeprefix("step-")
            if number.isdigit() and (folder / "manifest.json").is_file():
                found.append((int(number), folder))
        return found

    def create(self) -> None:
        """Make the folder and its sub-folders. Raises FileExistsError if the run exists."""
        self.path.mkdir(parents=True)
        for sub in (self.commands, self.checkpoint_root, self.samples):
            sub.mkdir()
