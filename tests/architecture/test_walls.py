"""The walls between rooms and floors: import-linter's contracts, and what they cannot say."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.sources import PACKAGES, ROOT, name, python_files, tree

_STUDIO_MAY_IMPORT = ("engine.protocol", "engine.planner", "engine.models.registry")


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _running_nodes(path: Path) -> Iterator[ast.AST]:
    """Every node of a file but those under `if TYPE_CHECKING:`, which never run."""
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _imports(path: Path) -> list[str]:
    """Full dotted names of everything that a file imports, wherever in the file."""
    found = []
    for node in _running_nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or path.name == "__init__.py", f"{name(path)}: imports are written from the root"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_studio_sees_only_the_face_of_the_engine() -> None:
    strangers = [
        f"{name(path)} imports {imported}"
        for path in python_files("studio")
        for imported in _imports(path)
        if imported.startswith("engine.") and not f"{imported}.".startswith(tuple(f"{m}." for m in _STUDIO_MAY_IMPORT))
    ]
    assert not strangers


def test_no_import_cycles() -> None:
    modules = {_module(path): path for path in python_files(*PACKAGES)}
    edges: dict[str, set[str]] = {}
    for module, path in modules.items():
        parents = (imported.rpartition(".")[0] for imported in _imports(path))
        edges[module] = {m for m in {*_imports(path), *parents} if m in modules and m != module}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"cycle: {' → '.join((*trail[trail.index(module):], module))}"
        if module not in done:
            for target in sorted(edges[module]):
                visit(target, (*trail, module))
            done.add(module)

    for module in modules:
        visit(module, ())


@pytest.mark.parametrize("module", ["studio.cli.__main__", "ui.__main__"])
def test_starting_the_app_imports_nothing_heavy(module: str) -> None:
    """The window's process and the CLI: no torch, transformers, tokenizers or pyarrow, whatever imports what."""
    heavy = "torch", "pycuda", "transformers", "peft", "tokenizers", "pyarrow", "datasets", "pandas"
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_packaging_stays_a_plain_folder() -> None:
    """With an __init__.py it would stand before PyPI's `packaging`, which half of our dependencies import."""
    assert not (ROOT / "packaging" / "__init__.py").exists()
