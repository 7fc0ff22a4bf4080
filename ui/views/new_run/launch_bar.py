"""The footer of the last step: what the run is called, and the button that launches it."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QWidget

from studio.recipes import FIELDS, Setting
from studio.runs.launching import default_name
from ui import theme as themes
from ui.context import Context
from ui.forms.binding import bind
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.views.new_run.launcher import Launcher
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.plan_words import nearest_fix
from ui.widgets.button import Button
from ui.widgets.field import TextField
from ui.widgets.text import Text


class LaunchBar(QWidget):
    """Name, tags, Launch. The button is off while something forbids the launch, and its tooltip says what to do."""

    def __init__(
        self, context: Context, session: PlanSession, launcher: Launcher, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._document, self._session, self._launcher = context.services.document, session, launcher
        self._name = bind(FIELDS["name"], self._take_name, lambda text: None)
        self._name.widget.setFixedWidth(themes.current().px(272))
        self.tags = TextField(tr("Tags"), placeholder=tr("Add tags, separated by commas"), icon="tag")
        self.tags.setMaximumWidth(themes.current().px(272))
        self._keys = shown(shortcuts(context.services.settings.load().shortcuts)["launch"].keys)
        self.button = Button(tr("Launch run"), icon="play", kind="primary", size="large", keys=self._keys)
        self.button.setAccessibleName(tr("Launch run"))
        self.button.clicked.connect(self.launch)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(Text(tr("Name"), size=12, tone="tx2"))
        row.addWidget(self._name.widget)
        row.addWidget(self.tags, 1)
        row.addStretch(1)
        row.addWidget(self.button)

    def launch(self) -> None:
        """Take what is being typed, then launch."""
        focused = QApplication.focusWidget()
        if isinstance(focused, QLineEdit):
            focused.editingFinished.emit()
        self.refresh()
        if self.button.isEnabled():
            self._launcher.launch(tuple(tag.strip() for tag in self.tags.text().split(",") if tag.strip()))

    def refresh(self) -> None:
        """Show name and readiness."""
        self._name.show(self._document.recipe.name)
        field = self._name.widget
        if isinstance(field, TextField):
            field.setPlaceholderText(default_name(self._document.recipe) if self._document.recipe.model else "")
        fix = nearest_fix(self._session)
        self.button.setEnabled(not fix and not self._launcher.busy and self._session.planned is not None)
        tip = tr("Launch this plan ({keys})", keys=self._keys)
        self.button.setToolTip(fix or (tr("Launching…") if self._launcher.busy else tip))
        self.button.setAccessibleDescription(self.button.toolTip())

    def _take_name(self, value: Setting) -> None:
        self._document.set("name", value)
