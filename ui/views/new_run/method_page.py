"""Step 3: the method at the left, the plan at the right, Launch below. Basic and Advanced show the same document."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.context import Command, Context
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import WizardPage
from ui.views.new_run.advanced_form import AdvancedForm
from ui.views.new_run.changes_list import ChangesButton, changed_settings
from ui.views.new_run.launch_bar import LaunchBar
from ui.views.new_run.launcher import Launcher
from ui.views.new_run.method_form import MethodForm
from ui.views.new_run.plan_panel import PlanColumn, PlanPanel
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import method_summary
from ui.widgets.button import Button
from ui.widgets.field import TextField
from ui.widgets.segmented import SegmentedControl
from ui.widgets.stepper import StepState
from ui.widgets.text import Rule
from ui.widgets.toggle import Toggle


class MethodPage(WizardPage):
    """`session` is the wizard's, shared with the pages before; without one the page makes its own."""

    def __init__(self, context: Context, session: PlanSession | None = None) -> None:
        super().__init__(context)
        self.document = context.services.document
        self.session = session or PlanSession(context, self)
        self._owns_session = session is None
        self._keys = {name: one.keys for name, one in shortcuts(context.services.settings.load().shortcuts).items()}
        self.launcher = Launcher(context, self.session, self)
        self.bar = LaunchBar(context, self.session, self.launcher)
        self.basic = MethodForm(self.session, self.document)
        self.advanced = AdvancedForm(self.document)
        self.panel = PlanPanel(context, self.session, self._go)
        self.column = PlanColumn(self.session, self.document, self._go)
        self.level = SegmentedControl(tr("Level"), [("basic", tr("Basic")), ("advanced", tr("Advanced"))])
        self.search_field = TextField(
            tr("Find a setting"), placeholder=tr("Find a setting"), icon="search", keys=shown(self._keys["search"])
        )
        self.changed_only = Toggle(tr("Changed only"))
        self.changes = ChangesButton(self.document)
        self.reset_all = Button(tr("Reset all"), icon="reset", kind="quiet")
        self._sides = QStackedWidget()
        self._forms = QStackedWidget()
        self._lay_out()
        self._connect()
        self.show_level("basic")

    def show_level(self, level: str) -> None:
        """ "basic" or "advanced"."""
        advanced = level == "advanced"
        self.level.set_value(level)
        self._forms.setCurrentIndex(int(advanced))
        self._sides.setCurrentIndex(int(advanced))
        for widget in (self.search_field, self.changed_only):
            widget.setVisible(advanced)
        self._left.setMaximumWidth(16777215 if advanced else themes.current().px(424))
        self._sides.setMaximumWidth(themes.current().px(316) if advanced else 16777215)
        self._sides.setProperty("surface", "bg2" if advanced else "")
        for stack in (self._forms, self._sides):
            for page in stack.findChildren(QScrollArea, options=Qt.FindChildOption.FindDirectChildrenOnly):
                shown = page is stack.currentWidget()
                fit = QSizePolicy.Policy.Preferred if shown else QSizePolicy.Policy.Ignored
                page.setSizePolicy(fit, fit)
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """The columns grow with the text size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_left"):
            self.show_level(str(self.level.value))

    def arrive(self, **arguments: object) -> None:
        """Plan anew: files and memory may have changed since. `level` opens Basic or Advanced."""
        self.launcher.new_visit()
        level = arguments.get("level")
        if isinstance(level, str):
            self.show_level(level)
        self.session.refresh()

    def shutdown(self) -> None:
        """No more plans."""
        if self._owns_session:
            self.session.close()

    def step_state(self) -> tuple[StepState, str]:
        """Done once the plan can be launched."""
        summary = method_summary(self.document.recipe)
        if self.session.planned is None:
            return "todo", summary
        return ("blocked" if self.session.nearest_fix() else "done"), summary

    def footer(self) -> QWidget:
        """Name and Launch."""
        return self.bar

    def commands(self) -> Sequence[Command]:
        """What this page adds to the command field."""
        keys = self._keys
        return [
            Command(tr("Launch run"), self.bar.launch, keys=shown(keys["launch"]), icon="play"),
            Command(tr("Basic or Advanced"), self.toggle_level, keys=shown(keys["level"]), icon="gear"),
            Command(tr("Reset all settings"), self._reset_all, icon="reset"),
        ]

    def toggle_level(self) -> None:
        """Basic ↔ Advanced."""
        self.show_level("basic" if self.level.value == "advanced" else "advanced")

    def focus_search(self) -> None:
        """Ctrl F: find a setting."""
        self.show_level("advanced")
        self.search_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search_field.selectAll()

    def refresh(self) -> None:
        """Show the session and the document; only what can be seen is drawn anew."""
        advanced = self.level.value == "advanced"
        if advanced:
            self.advanced.show_problems(self.session.errors())
            self.column.refresh()
        else:
            self.basic.refresh()
            self.panel.refresh()
        self.changes.refresh()
        self.reset_all.setEnabled(bool(changed_settings(self.document)))
        self.bar.refresh()
        self.step_changed.emit()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(20, 12, 12, 8)
        head.setSpacing(8)
        self.search_field.setMaximumWidth(themes.current().px(208))
        for widget in (self.level, self.search_field, self.changed_only):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self.changes)
        head.addWidget(self.reset_all)
        self._forms.addWidget(self.basic)
        self._forms.addWidget(self.advanced)
        self._sides.addWidget(self.panel)
        self._sides.addWidget(self.column)
        self._left = QWidget()
        self._left.setProperty("pane", "settings")
        self._sides.setProperty("pane", "plan")
        left = QVBoxLayout(self._left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(0)
        left.addLayout(head)
        left.addWidget(self._forms, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._left, 1)
        row.addWidget(Rule(vertical=True))
        row.addWidget(self._sides, 1)

    def _connect(self) -> None:
        self.session.changed.connect(self.refresh)  # which follows every change of the document too
        self.launcher.changed.connect(self.bar.refresh)
        self.level.picked.connect(lambda level: self.show_level(str(level)))
        self.search_field.textChanged.connect(self.advanced.search)
        self.changed_only.toggled.connect(self.advanced.show_changed_only)
        self.reset_all.clicked.connect(self._reset_all)
        actions: dict[str, Callable[[], object]] = {
            "launch": self.bar.launch,
            "level": self.toggle_level,
        }
        for name, action in actions.items():
            shortcut = QShortcut(QKeySequence(self._keys[name]), self)
            shortcut.setAutoRepeat(False)  # a held key launches once
            shortcut.activated.connect(action)

    def _reset_all(self) -> None:
        changed = changed_settings(self.document)
        if changed:
            self.document.edit(dict.fromkeys(changed))

    def _go(self, step: str) -> None:
        self.context.navigate("new", step=step)
