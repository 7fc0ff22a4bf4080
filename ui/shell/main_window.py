"""The window: bar, rail, screens, status. It knows routes and studio's run service, and no screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.context import Command, Context
from ui.draft_keeper import DraftKeeper
from ui.run_watch import RunWatch
from ui.services import Services
from ui.shell.closing import closing_dialog, stop_all
from ui.shell.command_field import CommandField
from ui.shell.explain import explain
from ui.shell.geometry import Geometry
from ui.shell.messages import show_messages
from ui.shell.page_stack import Factory, PageStack
from ui.shell.panes import next_pane
from ui.shell.status_bar import StatusBar
from ui.shell.status_watch import Running, StatusWatch, machine_words, reading_of
from ui.shell.top_bar import TopBar
from ui.shortcuts import shortcuts
from ui.tr import tr
from ui.widgets.focus_ring import FocusRing
from ui.widgets.nav_rail import Destination, NavRail
from ui.widgets.toast import Message, ToastHost

if TYPE_CHECKING:
    from studio.machine import MachineSpec

NARROW_BELOW = 1280


class MainWindow(QMainWindow):
    """Made with everything it needs; `start` begins to watch runs and the machine, after the first paint."""

    def __init__(
        self,
        appearance: Appearance,
        tasks: Tasks,
        services: Services,
        destinations: Sequence[Destination],
        factories: Mapping[str, Factory],
    ) -> None:
        super().__init__()
        self.setWindowTitle(tr("Anneal Studio"))
        self._appearance, self._tasks, self._services = appearance, tasks, services
        self._destinations = tuple(destinations)
        self._shortcuts = shortcuts(services.settings.load().shortcuts)
        self._geometry = Geometry(services.home.window)
        self._draft = DraftKeeper(services.document, services.draft, tasks, self)
        self.watch = RunWatch(tasks, services, self)
        self.status_watch = StatusWatch(tasks, services, self)
        self.rail = NavRail(destinations)
        self.pages = PageStack(factories)
        self.status = StatusBar()
        self.command_field = CommandField(self.commands, self, self._shortcuts["command"].keys)
        self.top = TopBar(self.command_field)
        self.toasts = ToastHost(self, bottom=100)  # above the wizard's footer, whose buttons must stay free
        self._lay_out()
        self.context = Context(appearance, tasks, services, self.watch, self.navigate, self.say)
        self.pages.use(self.context)
        self._connect()
        self._bind_keys()
        self._ring = FocusRing(self)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()  # or the command field would have it, because it comes first
        self._geometry.restore_window(self)

    def start(self) -> None:
        """Begin to watch; the studio is opened by it, on a worker thread."""
        self.watch.start()
        self.status_watch.start()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """F1 comes here from every control that does not answer it by itself."""
        focused = self.focusWidget()
        if event.key() == Qt.Key.Key_F1 and focused is not None:
            explain(focused)
            return
        super().keyPressEvent(event)

    def navigate(self, route: str, **arguments: object) -> None:
        """Go to a route; the arguments reach the screen's `arrive`."""
        self.pages.go(route, **arguments)

    def say(self, message: Message) -> object:
        """Show a toast."""
        return self.toasts.show(message)

    def commands(self) -> list[Command]:
        """What the command field offers: the screen's own first, then where one can go."""
        view = self.pages.current_view()
        own = list(view.commands()) if view is not None else []
        going = [
            Command(tr("Go to {place}", place=item.label), self._going(item.route), keys=item.keys, icon=item.icon)
            for item in self._destinations
        ]
        return [*own, *going, Command(tr("Dark or light"), self._appearance.toggle, icon="moon")]

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask while runs train; then end everything that is ours. Engines go on unless they were stopped."""
        running = dict(self.status_watch.active)
        if running:
            dialog = closing_dialog(list(running.values()), self)
            dialog.exec()
            if dialog.answer == "cancel":
                event.ignore()
                return
            if dialog.answer == "stop":
                stop_all(self._services.runs, running)
        self._geometry.save_window(self)
        self.watch.stop()
        self.pages.shutdown()
        self._draft.close()
        self._tasks.close()
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow windows get a rail of icons."""
        super().resizeEvent(event)
        self.rail.set_narrow(self.width() < NARROW_BELOW)

    def changeEvent(self, event: QEvent) -> None:
        """Bars grow with the text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "top"):
            self.top.follow_theme()
            self.status.follow_theme()
            self.rail.set_narrow(self.width() < NARROW_BELOW)

    def _lay_out(self) -> None:
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.rail)
        middle.addWidget(self.pages, 1)
        column.addWidget(self.top)
        column.addLayout(middle, 1)
        column.addWidget(self.status)
        self.setCentralWidget(centre)
        self.rail.setProperty("pane", "rail")

    def _connect(self) -> None:
        self.rail.picked.connect(self.navigate)
        self.pages.gone_to.connect(self.rail.select)
        self.pages.crumbs_changed.connect(self._show_crumbs)
        self.watch.changed.connect(lambda changes: self.status_watch.read_runs())
        self.status_watch.running.connect(self._show_running)
        self.status_watch.machine.connect(self._show_machine)
        self.top.theme_wanted.connect(self._appearance.toggle)
        self.top.machine_wanted.connect(lambda: self.navigate("doctor"))
        self.top.messages_wanted.connect(lambda: show_messages(self.toasts.history, self.top.bell))

    def _bind_keys(self) -> None:
        actions: dict[str, Callable[[], object]] = {
            "command": self.command_field.open,
            "new": self._going("new"),
            "theme": self._appearance.toggle,
            "pane.next": lambda: next_pane(self, 1),
            "pane.previous": lambda: next_pane(self, -1),
            **{f"go.{item.route}": self._going(item.route) for item in self._destinations},
        }
        for name, action in actions.items():
            shortcut = QShortcut(QKeySequence(self._shortcuts[name].keys), self)
            shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
            shortcut.setAutoRepeat(False)
            shortcut.activated.connect(action)

    def _going(self, route: str) -> Callable[[], None]:
        return lambda: self.navigate(route)

    def _show_running(self, running: Running) -> None:
        self.status.set_run(running.text, bool(running.names))
        if any(item.route == "live" for item in self._destinations):
            self.rail.item("live").set_dot(bool(running.names))

    def _show_machine(self, machine: MachineSpec) -> None:
        self.status.set_reading(reading_of(machine))
        self.top.machine.set_machine(machine_words(machine))

    def _show_crumbs(self) -> None:
        view = self.pages.current_view()
        self.top.crumbs.set_parts(view.crumbs() if view is not None else ())
