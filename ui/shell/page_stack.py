"""The screens by route, each made when it is first gone to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from ui.context import Context
from ui.view import View

Factory = Callable[[Context], View]


class PageStack(QStackedWidget):
    """`gone_to` carries the route after the screen is shown; `crumbs_changed` means: ask `current_view().crumbs()`."""

    gone_to = Signal(str)
    crumbs_changed = Signal()

    def __init__(self, factories: Mapping[str, Factory], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._factories = factories
        self._views: dict[str, View] = {}
        self._route = ""
        self._context: Context | None = None

    def use(self, context: Context) -> None:
        """What the screens will be given; comes after construction because `navigate` leads back here."""
        self._context = context

    @property
    def route(self) -> str:
        """Where we are, "" before the first screen."""
        return self._route

    def current_view(self) -> View | None:
        """The screen that is shown."""
        return self._views.get(self._route)

    def view(self, route: str) -> View:
        """The screen of a route, made if need be. Raises KeyError for an unknown route."""
        if route not in self._views:
            if self._context is None:
                raise RuntimeError("PageStack.use comes before the first screen.")
            view = self._factories[route](self._context)
            view.crumbs_changed.connect(self.crumbs_changed)
            self._views[route] = view
            self.addWidget(view)
        return self._views[route]

    def go(self, route: str, **arguments: object) -> None:
        """Show a route. Raises KeyError for an unknown one."""
        view = self.view(route)
        before = self.current_view()
        if before is not None and before is not view:
            before.leave()
        self._route = route
        self.setCurrentWidget(view)
        view.arrive(**arguments)
        self.gone_to.emit(route)
        self.crumbs_changed.emit()

    def shutdown(self) -> None:
        """Leave the shown screen and shut all of them down."""
        current = self.current_view()
        if current is not None:
            current.leave()
        for view in self._views.values():
            view.shutdown()
