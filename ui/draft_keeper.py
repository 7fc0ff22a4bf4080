"""Keeps what stands on the form, so that a window that was killed comes back with it (scenario S1)."""

from __future__ import annotations

from PySide6.QtCore import QObject

from studio.recipes.document import RecipeDocument
from studio.recipes.draft import Draft
from ui.bridge import Latest, Tasks

_DELAY_MILLISECONDS = 250


class DraftKeeper(QObject):
    """Writes the document's recipe off the GUI thread a moment after the last edit, and once more at `close`."""

    def __init__(self, document: RecipeDocument, draft: Draft, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._document, self._draft = document, draft
        self._latest = Latest(tasks, self, delay=_DELAY_MILLISECONDS)
        self._unsubscribe = document.subscribe(lambda keys: self._keep_soon())

    def close(self) -> None:
        """Keep what is not kept yet; call before the tasks close. Raises OSError where the disk refuses."""
        self._unsubscribe()
        if self._latest.pending:
            self._latest.cancel()
            self._draft.write()

    def _keep_soon(self) -> None:
        self._draft.remember(self._document.recipe)
        self._latest.request(lambda control: self._draft.write(), on_result=lambda nothing: None)
