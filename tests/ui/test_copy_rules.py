"""The words of the window keep to the design's copy rules, wherever a string is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.recipes import FIELDS, GROUP_LABELS
from ui import format as f
from ui.forms.form import setting_words
from ui.wording import words_for

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = {
    r"\bvalidation\b": "evaluation",
    r"\bdata sets?\b": "dataset, one word",
    r"\bstart(ed|ing)? (a |the )?(run|training)\b": "launch",
    r"^OK$|\bOK\b": "a verb",
    r"!": "no exclamation marks",
    r"\d%|\}%": "a space before %",
    r"\b(color|behavior|favor|gray|canceled|license|center|catalog|organization|initializ\w+|analyz\w+)\b": "British",
    r"\b(please|sorry|oops|invalid)\b": "plain words without blame",
}
ALLOWED = ("Apache License", "Open Font License", "SIL Open Font License")


def visible_strings() -> Iterator[tuple[str, str]]:
    """(where, text) of every literal that is given to `tr` or `plural` in the window."""
    for path in sorted((ROOT / "ui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tr", "plural"):
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield f"{path.relative_to(ROOT)}:{argument.lineno}", argument.value
    for node in ast.walk(ast.parse((ROOT / "ui/wording.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith("."):
            yield f"ui/wording.py:{node.lineno}", node.value
    for key, spec in FIELDS.items():
        yield from ((key, text) for text in (spec.label, spec.help, *(label for _, label in spec.choices)))
    yield from (("group", label) for label in GROUP_LABELS.values())


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_no_visible_string_breaks_a_copy_rule(pattern: str) -> None:
    found = []
    for where, text in visible_strings():
        rest = text
        for allowed in ALLOWED:
            rest = rest.replace(allowed, "")
        if re.search(pattern, rest, re.IGNORECASE if pattern != r"^OK$|\bOK\b" else 0):
            found.append(f"{where}: {text!r}")
    assert not found, f"say it otherwise ({FORBIDDEN[pattern]}): " + "\n".join(found)


def test_the_rules_see_the_whole_window() -> None:
    assert len({text for _, text in visible_strings()}) > 500


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("evaluate_every", 0.05, "5 % of the run"),
        ("evaluate_every", 0.005, "0.5 % of the run"),
        ("checkpoint_every", 1.0, "1 step"),
        ("checkpoint_every", 50.0, "50 steps"),
        ("evaluate_every", 0.0, "never"),
        ("maximum_steps", None, "none"),
        ("sample_prompts", (), "none"),
        ("sequence_length", 2048, "2,048 tokens"),
    ],
)
def test_a_setting_is_worded_as_a_person_would(key: str, value: object, words: str) -> None:
    assert setting_words(FIELDS[key], value) == words  # type: ignore[arg-type]  # one of Setting's types each


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0004, "0.4 ms"), (0.0099, "9.9 ms"), (0.00996, "10 ms"), (0.021, "21 ms"), (0.1, "0.10 s")],
)
def test_a_short_time_is_not_nothing(seconds: float, words: str) -> None:
    assert f.duration(seconds) == words


def test_an_unknown_problem_still_has_words() -> None:
    assert words_for(ValueError("something")).what
