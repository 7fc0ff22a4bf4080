"""Opening and saving recipes: the library's list, or any file by a dialog. New run and the first start both use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from studio.recipes import Recipe
from ui.context import Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.toast import Message
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.recipes.library import RecipeEntry


class RecipeFiles(QObject):
    """Open and save for one screen. `opened` is called after a recipe has taken the document's place."""

    def __init__(self, context: Context, screen: QWidget, opened: Callable[[], None] = lambda: None) -> None:
        super().__init__(screen)
        self._context, self._screen, self._opened = context, screen, opened
        self._document = context.services.document
        self._path = context.services.home.recipes

    def open_button(self, text: str = "") -> Button:
        """A button that opens the list of recipes below itself."""
        button = Button(text or tr("Open recipe"), icon="folder", kind="normal" if text else "quiet")
        button.clicked.connect(lambda: self.choose(button))
        return button

    def save_button(self) -> Button:
        """A button that saves; Ctrl S does the same while the screen is seen."""
        keys = shortcuts(self._context.services.settings.load().shortcuts)["save"].keys
        button = Button(tr("Save recipe"), icon="save", kind="quiet", keys=shown(keys))
        button.setAccessibleName(tr("Save recipe"))
        button.clicked.connect(self.save)
        shortcut = QShortcut(QKeySequence(keys), self._screen)
        shortcut.setAutoRepeat(False)
        shortcut.activated.connect(self.save)
        return button

    def choose(self, button: QWidget) -> None:
        """List the library, then show it as a menu below `button`."""
        services = self._context.services
        self._context.tasks.run(
            lambda control: services.recipes.list(),
            owner=self,
            on_result=lambda entries: self._show_menu(button, entries),
            on_error=self._failed,
        )

    def open(self, path: Path | str) -> None:
        """Open a file into the document, as one step of undo."""
        services = self._context.services

        def take(recipe: Recipe) -> None:
            self._path = Path(path)
            self._document.replace(recipe)
            self._document.mark_saved()
            self._context.toast(Message("good", tr("Recipe opened"), tr("{name}. Ctrl Z brings back what was there.",
                name=Path(path).name)))  # fmt: skip
            self._opened()

        self._context.tasks.run(
            lambda control: services.recipes.open(path), owner=self, on_result=take, on_error=self._failed
        )

    def save(self) -> None:
        """Ask where, then write. Nothing happens where the dialog is cancelled."""
        named = self._document.recipe.name or tr("recipe")
        start = self._path if self._path.suffix else self._path / f"{named}.yaml"
        chosen, _ = QFileDialog.getSaveFileName(self._screen, tr("Save recipe"), str(start), tr("Recipes (*.yaml)"))
        if not chosen:
            return
        path = Path(chosen) if Path(chosen).suffix else Path(f"{chosen}.yaml")
        recipe, services = self._document.recipe, self._context.services

        def done(nothing: None) -> None:
            self._path = path
            if self._document.recipe == recipe:
                self._document.mark_saved()
            self._context.toast(Message("good", tr("Recipe saved"), str(path)))

        self._context.tasks.run(
            lambda control: services.recipes.overwrite(recipe, path), owner=self, on_result=done, on_error=self._failed
        )

    def _show_menu(self, button: QWidget, entries: Sequence[RecipeEntry]) -> None:
        menu = QMenu(button)
        menu.setAccessibleName(tr("Recipes"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for entry in entries:
            text = tr("{name} (preset)", name=entry.name) if entry.is_preset else entry.name
            action = menu.addAction(text.replace("&", "&&"))
            action.setToolTip(str(words_for(entry.problem)) if entry.problem else entry.about or entry.path)
            action.setEnabled(entry.problem is None)
            action.triggered.connect(lambda _checked=False, path=entry.path: self.open(path))
        menu.addSeparator()
        menu.addAction(tr("Open a file…")).triggered.connect(self._browse)
        menu.popup(button.mapToGlobal(QPoint(0, button.height() + 4)))

    def _browse(self) -> None:
        folder = self._path.parent if self._path.suffix else self._path
        chosen, _ = QFileDialog.getOpenFileName(
            self._screen, tr("Open recipe"), str(folder), tr("Recipes (*.yaml *.yml)")
        )
        if chosen:
            self.open(chosen)

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self._context.toast(Message("bad", words.what, words.remedy))
