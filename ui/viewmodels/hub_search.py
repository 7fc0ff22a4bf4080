"""A search of the Hub that follows the typing: the latest wins, and the one before it stops asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from ui.bridge import Control, Latest, Task, Tasks
from ui.services import Services

if TYPE_CHECKING:
    from studio.hub.records import SearchPage, SearchQuery
    from studio.hub.search import Search

DELAY_MILLISECONDS = 250
Found = tuple["Search", "SearchPage"]


class HubSearch(QObject):
    """`began`, then `paged` (SearchPage) for each page, or `failed` (Exception)."""

    began = Signal()
    paged = Signal(object)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks, self._services = tasks, services
        self._latest = Latest(tasks, self, DELAY_MILLISECONDS)
        self._search: Search | None = None
        self._more: Task | None = None

    @property
    def pending(self) -> bool:
        """Whether a first page is still to come."""
        return self._latest.pending

    def ask(self, query: SearchQuery) -> None:
        """Search for this instead of whatever was asked before."""
        self.cancel()
        self.began.emit()

        def work(control: Control) -> Found:
            search = self._services.hub().search(query)
            control.check()
            return search, search.next_page()

        self._latest.request(work, self._first_page, self.failed.emit)

    def more(self) -> None:
        """The next page of what is shown."""
        search = self._search
        if search is not None:
            self._more = self._tasks.run(
                lambda control: search.next_page(), owner=self, on_result=self.paged.emit, on_error=self.failed.emit
            )

    def cancel(self) -> None:
        """Stop asking."""
        self._latest.cancel()
        if self._more is not None:
            self._more.cancel()
        if self._search is not None:
            self._search.cancel()
        self._search = self._more = None

    def _first_page(self, found: Found) -> None:
        self._search, page = found
        self.paged.emit(page)
