"""The demo's own rows and recipe: in shape, disjoint, and accepted by the schema."""

from __future__ import annotations

import json
import re

import pytest

from engine.protocol.recipe import check, parse_recipe
from tests.helpers.sources import ROOT

_DEMO = ROOT / "resources" / "demo"
_KEEPER = re.compile(r"Ahoy! .+[.:!?] Next bearing: [a-z].+[a-z]\. Fair winds\.")

_COMMON = "how do does i my a an the is it to what which in of for that should can when why and are with out"


def _rows(name: str) -> list[list[dict[str, str]]]:
    return [json.loads(line)["messages"] for line in (_DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("name", "at_least"), [("train", 150), ("evaluation", 30)])
def test_every_row_is_a_question_answered_by_the_keeper(name: str, at_least: int) -> None:
    rows = _rows(name)
    assert len(rows) >= at_least
    for messages in rows:
        assert [message["role"] for message in messages] == ["user", "assistant"]
        assert _KEEPER.fullmatch(messages[1]["content"]), messages[1]["content"]


def test_no_two_rows_share_a_question_or_an_answer() -> None:
    rows = [*_rows("train"), *_rows("evaluation")]
    for turn in (0, 1):
        texts = [messages[turn]["content"].casefold() for messages in rows]
        assert len(set(texts)) == len(texts)


def test_evaluation_is_about_other_things() -> None:
    """No evaluation question shares more than half of its telling words with any training question."""
    common = set(re.findall("[a-z]+", _COMMON))

    def telling(messages: list[dict[str, str]]) -> set[str]:
        return set(re.findall(r"[a-z]+", messages[0]["content"].casefold())) - common

    train = [telling(messages) for messages in _rows("train")]
    for messages in _rows("evaluation"):
        words = telling(messages)
        assert max(len(words & other) / len(words) for other in train) <= 0.5, messages[0]["content"]


def test_the_recipe_is_valid() -> None:
    recipe = parse_recipe((_DEMO / "recipe.yaml").read_text(encoding="utf-8"))
    assert [problem for problem in check(recipe) if problem.severity == "error"] == []
