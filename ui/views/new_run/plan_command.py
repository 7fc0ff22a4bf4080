"""The line in a terminal that would launch the same run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from studio.errors import EngineError
from studio.home import Home, find_home
from studio.recipes import FIELDS, Recipe
from studio.recipes.setting_text import parse_setting, setting_text
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.text import Text

BASE = "lora-balanced"
"""The preset that holds nothing but the defaults: a recipe that was never saved is that plus its settings."""


def command_line(recipe: Recipe, home: Home) -> str | None:
    """`anneal train …` for a recipe that lies in no file; None where `--set` cannot say all of it (columns of a
    dataset, for example)."""
    parts = ["anneal", "train", BASE]
    if find_home(None, os.environ) != Path(home.root):
        parts += ["--home", str(home.root)]
    for key in FIELDS:
        value = getattr(recipe, key)
        if value is None or value == ():
            continue
        text = setting_text(value)
        try:
            if parse_setting(key, text) != value:
                return None
        except EngineError:
            return None
        parts += ["--set", f"{key}={text}"]
    return shlex.join(parts)


class CommandCard(Card):
    """The line, and a button that copies it."""

    def __init__(self, home: Home, parent: QWidget | None = None) -> None:
        super().__init__(tr("The same from a terminal"), parent=parent)
        self._home = home
        self.line = Text("", size=12, tone="tx2", mono=True, elide=True)
        self.copy = Button(tr("Copy"), icon="copy", kind="quiet")
        self.copy.setAccessibleName(tr("Copy the command"))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.line.text()))
        self.add_to_header(self.copy)
        self.body.addWidget(self.line)

    def show_recipe(self, recipe: Recipe) -> None:
        """Word the recipe as a command."""
        command = command_line(recipe, self._home)
        self.copy.setEnabled(command is not None)
        self.line.setText(
            command or tr("Options of a dataset do not fit on a command line: save the recipe and name its file.")
        )
