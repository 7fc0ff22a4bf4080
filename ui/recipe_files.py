"""Opening and saving recipes: the library's list, or any file by a dialog. New run and the first start both use it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QFileDialog, QMenu

from studio.recipes import ModelRef, Recipe
from studio.recipes.library import RESOURCES
from ui.context import Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.toast import Message
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.recipes.library import RecipeEntry


class RecipeButtons(QObject):
    """`open` and `save` are buttons. `opened` is called after a recipe has taken the document's place."""

    def __init__(self, context: Context, parent: QObject, opened: Callable[[], None] = lambda: None) -> None:
        super().__init__(parent)
        self._context, self._opened = context, opened
        self._document = context.services.document
        self._file: tuple[Path, tuple[str | None, ModelRef | None]] | None = None
        keys = shortcuts(context.services.settings.load().shortcuts)["save"].keys
        self.open = Button(tr("Open recipe"), icon="folder", kind="quiet")
        self.save = Button(tr("Save recipe"), icon="save", kind="quiet", keys=shown(keys))
        self.open.clicked.connect(self.choose)
        self.save.clicked.connect(self.save_now)

    def choose(self) -> None:
        """Show the library as a menu below the button."""
        services = self._context.services
        self._context.tasks.run(
            lambda control: services.recipes.list(), owner=self, on_result=self._show_menu, on_error=self._failed
        )

    def open_path(self, path: Path | str) -> None:
        """Open a file into the document, as one step of undo."""
        services = self._context.services

        def take(recipe: Recipe) -> None:
            ours = Path(path).resolve().is_relative_to(RESOURCES)
            self._file = None if ours else (Path(path), (recipe.name, recipe.model))
            self._document.replace(recipe)
            self._document.mark_saved()
            words = tr("{name}. Ctrl Z brings back what was there.", name=Path(path).stem)
            self._context.toast(Message("good", tr("Recipe opened"), words))
            self._opened()

        self._context.tasks.run(
            lambda control: services.recipes.open(path), owner=self, on_result=take, on_error=self._failed
        )

    def save_now(self) -> None:
        """Over the file that this recipe was opened from or saved to; else into the library, where nothing is ever
        overwritten. A recipe of another name or model is another recipe."""
        recipe, services = self._document.recipe, self._context.services
        if self._file is not None and self._file[1] == (recipe.name, recipe.model):
            self._write(recipe, self._file[0])
            return
        self._context.tasks.run(
            lambda control: services.recipes.save(recipe, self._name(recipe)),
            owner=self, on_result=lambda path: self._saved(recipe, path), on_error=self._failed, touches=("recipes",),
        )  # fmt: skip

    def save_as(self) -> None:
        """Ask where, then write. Nothing happens where the dialog is cancelled."""
        recipe = self._document.recipe
        start, kinds = self._folder / f"{self._name(recipe)}.yaml", tr("Recipes") + " (*.yaml)"
        chosen, _ = QFileDialog.getSaveFileName(self.save.window(), tr("Save recipe as"), str(start), kinds)
        if chosen:
            self._write(recipe, Path(chosen) if Path(chosen).suffix else Path(f"{chosen}.yaml"))

    def _write(self, recipe: Recipe, path: Path) -> None:
        services = self._context.services
        self._context.tasks.run(
            lambda control: services.recipes.overwrite(recipe, path),
            owner=self, on_result=lambda nothing: self._saved(recipe, path), on_error=self._failed,
            touches=("recipes",),
        )  # fmt: skip

    def _saved(self, recipe: Recipe, path: Path) -> None:
        self._file = (path, (recipe.name, recipe.model))
        if self._document.recipe == recipe:
            self._document.mark_saved()
        self._context.toast(Message("good", tr("Recipe saved"), str(path)))

    @property
    def _folder(self) -> Path:
        return self._file[0].parent if self._file else self._context.services.home.recipes

    @staticmethod
    def _name(recipe: Recipe) -> str:
        return recipe.name or (recipe.model.label().rpartition("/")[2] if recipe.model else tr("recipe"))

    def _show_menu(self, entries: Sequence[RecipeEntry]) -> None:
        menu = QMenu(self.open)
        menu.setAccessibleName(tr("Recipes"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for entry in entries:
            text = tr("{name} (preset)", name=entry.name) if entry.is_preset else entry.name
            action = menu.addAction(text.replace("&", "&&"))
            action.setToolTip(str(words_for(entry.problem)) if entry.problem else entry.about or entry.path)
            action.setEnabled(entry.problem is None)
            action.triggered.connect(lambda _checked=False, path=entry.path: self.open_path(path))
        menu.addSeparator()
        menu.addAction(tr("Open a file…")).triggered.connect(self._browse)
        menu.addAction(tr("Save as…")).triggered.connect(self.save_as)
        menu.popup(self.open.mapToGlobal(QPoint(0, self.open.height() + 4)))

    def _browse(self) -> None:
        kinds = tr("Recipes") + " (*.yaml *.yml)"
        chosen, _ = QFileDialog.getOpenFileName(self.open.window(), tr("Open recipe"), str(self._folder), kinds)
        if chosen:
            self.open_path(chosen)

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self._context.toast(Message("bad", words.what, words.remedy))
