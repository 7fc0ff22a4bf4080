"""A home, a tiny model, rows and a recipe; the command line called in this process, its engine the fake one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.protocol.errors import SurroundingsError
from studio.app import open_studio
from studio.cli.__main__ import main
from tests.helpers.tiny_models import write_tiny_llama
from tests.studio.runs.conftest import FAKE_ENGINE


@dataclass
class Desk:
    """Where the commands are typed. `run` gives (exit code, standard output, standard error)."""

    root: Path
    capture: pytest.CaptureFixture[str]

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def recipe(self) -> str:
        return str(self.root / "recipe.yaml")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        code = main(["--home", str(self.home), *arguments], engine_command=FAKE_ENGINE)
        said = self.capture.readouterr()
        return code, said.out, said.err

    def json(self, *arguments: str, code: int = 0) -> object:
        """The command's JSON, which must be all that stands on standard output."""
        got, out, err = self.run(*arguments, "--json")
        assert got == code, err
        return json.loads(out)

    def options(self, **values: object) -> None:
        self.home.mkdir(exist_ok=True)
        (self.home / "fake.json").write_text(json.dumps(values))


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    write_tiny_llama(tmp_path / "model")
    turns = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "The quick brown fox."}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"messages": turns}) + "\n" for _ in range(40)))
    (tmp_path / "recipe.yaml").write_text(
        "model: {source: folder, path: model}\ndatasets: [{path: rows.jsonl}]\nsequence_length: 64\n"
    )
    yield Desk(tmp_path, capsys)
    studio = open_studio(tmp_path / "home", engine_command=FAKE_ENGINE)
    for path in studio.home.runs.iterdir():
        with contextlib.suppress(SurroundingsError):
            studio.runs.end_now(path.name, patience_seconds=0.2)
    studio.close()
