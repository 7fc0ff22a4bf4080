"""New run: three steps in any order, with a footer that always says what the plan is so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF
from PySide6.QtGui import QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.context import Command, Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import View, WizardPage
from ui.widgets.button import Button
from ui.widgets.stepper import Stepper

PageFactory = Callable[[Context], WizardPage]


class Footer(QWidget):
    """56 px: Back, what the page has to say, Next."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.back = Button(tr("Back"), size="medium")
        self.middle = QStackedWidget()
        self.next = Button(tr("Next"), kind="primary", size="medium", trailing="chevron-right")
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 0, 20, 0)
        row.setSpacing(12)
        row.addWidget(self.back)
        row.addWidget(self.middle, 1)
        row.addWidget(self.next)
        self.setFixedHeight(themes.current().px(56))

    def changeEvent(self, event: QEvent) -> None:
        """The height grows with the text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.setFixedHeight(themes.current().px(56))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground and divider."""
        theme = themes.current()
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("bg0"))
        painter.fillRect(QRectF(0, 0, self.width(), 1), theme.color("line"))
        painter.end()


class Wizard(View):
    """`steps` are (key, name, factory). `arrive(step="data")` opens a step; other arguments go to its page."""

    def __init__(self, context: Context, steps: Sequence[tuple[str, str, PageFactory]]) -> None:
        super().__init__(context)
        self._keys = [key for key, _, _ in steps]
        self.stepper = Stepper([name for _, name, _ in steps])
        self.stack = QStackedWidget()
        self.footer = Footer()
        self.pages: list[WizardPage] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget, stretch in ((self.stepper, 0), (self.stack, 1), (self.footer, 0)):
            column.addWidget(widget, stretch)
        for _, _, factory in steps:
            self._add_page(factory(context))
        for button in self.pages[0].header():
            self.stepper.add_widget(button)
        self.stepper.picked.connect(self.go)
        self.footer.back.clicked.connect(lambda: self.go(self.stack.currentIndex() - 1))
        self.footer.next.clicked.connect(self._next)
        self._bind_keys()
        self._show_steps()

    @property
    def index(self) -> int:
        """The step that is shown, 0 to 2."""
        return self.stack.currentIndex()

    def go(self, index: int, **arguments: object) -> None:
        """Show a step; an index outside does nothing."""
        if not 0 <= index < len(self.pages):
            return
        if index != self.index:
            self.pages[self.index].leave()
        self.stack.setCurrentIndex(index)
        self.footer.middle.setCurrentIndex(index)
        self.pages[index].arrive(**arguments)
        self._show_steps()
        self.crumbs_changed.emit()

    def arrive(self, **arguments: object) -> None:
        """Open the step named by `step`, or the one that was open."""
        step = arguments.pop("step", None)
        self.go(self._keys.index(str(step)) if step is not None else self.index, **arguments)

    def leave(self) -> None:
        """The shown page is left."""
        self.pages[self.index].leave()

    def crumbs(self) -> Sequence[str]:
        """New run, what the page adds, the step."""
        return (tr("New run"), *self.pages[self.index].crumbs(), self.stepper.steps[self.index].text())

    def commands(self) -> Sequence[Command]:
        """What the shown page offers."""
        return self.pages[self.index].commands()

    def shutdown(self) -> None:
        """All pages end."""
        for page in self.pages:
            page.shutdown()

    def _add_page(self, page: WizardPage) -> None:
        page.step_changed.connect(self._show_steps)
        page.crumbs_changed.connect(self.crumbs_changed)
        self.pages.append(page)
        self.stack.addWidget(page)
        self.footer.middle.addWidget(page.footer() or QWidget())

    def _next(self) -> None:
        if self.pages[self.index].ready():
            self.go(self.index + 1)

    def _show_steps(self) -> None:
        for index, page in enumerate(self.pages):
            state, summary = page.step_state()
            self.stepper.set_step(index, "current" if index == self.index else state, summary)
        page = self.pages[self.index]
        self.footer.back.setVisible(self.index > 0)
        self.footer.next.setVisible(bool(page.next_label()))
        self.footer.next.setText(page.next_label().replace("&", "&&"))
        self.footer.next.setAccessibleName(page.next_label())
        self.footer.next.setEnabled(page.ready())

    def _bind_keys(self) -> None:
        keys = shortcuts(self.context.services.settings.load().shortcuts)
        following = QShortcut(QKeySequence(keys["step.next"].keys), self, self._next)
        back = QShortcut(QKeySequence(keys["step.back"].keys), self, lambda: self.go(self.index - 1))
        for shortcut in (following, back):
            shortcut.setAutoRepeat(False)  # a held key must not run through the steps
        self.footer.next.set_keys(shown(keys["step.next"].keys))
