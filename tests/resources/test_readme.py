"""The README's promises that a machine can check."""

from __future__ import annotations

import re

from tests.helpers.sources import ROOT

_README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_link_into_the_project_leads_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", _README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_make_target_that_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`?make ([a-z]+)`?", _README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_command_that_it_shows_exists() -> None:
    """`anneal NAME …` in a console block, `pause|resume` too."""
    commands = {path.stem for path in (ROOT / "studio" / "cli" / "commands").glob("*.py")}
    shown = {name for names in re.findall(r"^\$ anneal ([a-z|]+)", _README, re.MULTILINE) for name in names.split("|")}
    assert shown and shown <= commands, shown - commands


def test_it_is_short() -> None:
    assert _README.count("\n") < 150
