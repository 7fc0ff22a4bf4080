"""The project's own Python files, read and parsed once for the tests of this folder."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("engine", "studio", "ui")
EVERYWHERE = (*PACKAGES, "tests", "packaging")


@cache
def python_files(*folders: str) -> list[Path]:
    """Every .py file under these folders of the checkout, sorted."""
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


def name(path: Path) -> str:
    """The path as a message shows it."""
    return path.relative_to(ROOT).as_posix()


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=name(path))
