"""Sizes, names and reasons: the rules that keep the house readable."""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.sources import EVERYWHERE, PACKAGES, ROOT, name, python_files, text, tree

_FILE_LINES, _FUNCTION_LINES = 500, 60
_JUNK_DRAWERS = {"utils", "util", "misc", "helpers", "helper", "common", "manager"}


def test_files_are_short() -> None:
    long = {name(p): lines for p in python_files(*EVERYWHERE) if (lines := text(p).count("\n")) > _FILE_LINES}
    assert not long, f"files over {_FILE_LINES} lines: {long}"


def test_functions_fit_a_screen() -> None:
    long = [
        f"{name(path)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in python_files(*EVERYWHERE)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > _FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def test_no_junk_drawers() -> None:
    found = [
        name(path)
        for path in python_files(*PACKAGES, "packaging")
        if _JUNK_DRAWERS & {path.stem, *path.relative_to(ROOT).parent.parts}
    ]
    assert not found


def test_init_files_hold_nothing_but_re_exports() -> None:
    for path in python_files(*EVERYWHERE):
        if path.name != "__init__.py":
            continue
        for node in tree(path).body:
            allowed = isinstance(node, ast.Import | ast.ImportFrom) or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a docstring
            )
            is_all = isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]
            assert allowed or is_all, f"{name(path)}:{node.lineno} is more than a re-export"


def _silencing_comments(path: Path) -> Iterator[tuple[int, str]]:
    if not re.search(r"#\s*(type:\s*ignore|noqa)", text(path)):
        return  # most files; cutting them into tokens would take seconds
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"#\s*type:\s*ignore(\[[\w, -]+\])?", id="type-ignore"),
        pytest.param(r"#\s*noqa(:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*)?", id="noqa"),
    ],
)
def test_each_silenced_check_names_its_code_and_its_reason(pattern: str) -> None:
    bare = []
    for path in python_files(*EVERYWHERE):
        for line, comment in _silencing_comments(path):
            match = re.search(pattern, comment)
            if match and (match.group(1) is None or not re.search(r"\w{3}", comment[match.end():])):
                bare.append(f"{name(path)}:{line} {comment}")
    assert not bare, "\n".join(bare)


def test_each_any_has_its_reason() -> None:
    """On its line, or on the line above: `x: Any  # Any: whatever the callee returns`."""
    bare: dict[str, None] = {}  # a set that keeps the order
    for path in python_files(*PACKAGES, "packaging"):
        lines = text(path).splitlines()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Name) and node.id == "Any":
                nearby = lines[max(0, node.lineno - 2) : (node.end_lineno or node.lineno)]
                if not any("#" in line for line in nearby):
                    bare[f"{name(path)}:{node.lineno} {lines[node.lineno - 1].strip()}"] = None
    assert not bare, "\n".join(bare)


def _tracked_texts() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [name(p) for p in python_files(*EVERYWHERE)]
    for each in names:
        try:
            yield each, (ROOT / each).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue  # pictures and fonts


def test_no_path_of_the_authors_machine() -> None:
    forbidden = "/" + "work/"
    assert not [each for each, content in _tracked_texts() if forbidden in content]


def test_fonts_come_with_their_licences() -> None:
    fonts = [p for p in (ROOT / "resources" / "fonts").rglob("*") if p.suffix in (".ttf", ".otf", ".woff2")]
    assert fonts, "the interface's fonts are committed"
    for font in fonts:
        licences = [p for folder in (font.parent, font.parent.parent) for p in folder.iterdir()
                    if re.search(r"OFL|LICEN[CS]E", p.name, re.IGNORECASE)]  # fmt: skip
        assert licences, f"{name(font)} has no licence beside it"


def test_the_licence_is_apache() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")[:200]
