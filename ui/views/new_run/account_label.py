"""Whether we are signed in to the Hub, beside the tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from ui.context import Context
from ui.tr import tr
from ui.widgets.button import Button
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import AccountState


class AccountLabel(Button):
    """Leads to the settings, where one signs in."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(tr("Hub account"), icon="key", kind="quiet", parent=parent)
        self._context = context
        self.clicked.connect(lambda: context.navigate("settings"))

    def check(self) -> None:
        """Ask the Hub who we are, off the GUI thread."""
        services = self._context.services
        self._context.tasks.run(
            lambda control: services.hub().account.check(), owner=self, on_result=self._known, on_error=self._unknown
        )

    def _known(self, state: AccountState) -> None:
        if state.problem is not None:
            self._show(tr("Token refused"), str(words_for(state.problem)))
        elif state.signed_in:
            self._show(tr("Signed in as {name}", name=state.name), tr("Role of the token: {role}", role=state.role))
        else:
            self._show(tr("Not signed in"), tr("Only gated and private models need an account. Sign in in Settings."))

    def _unknown(self, error: Exception) -> None:
        self._show(tr("Hub account"), str(words_for(error)))

    def _show(self, text: str, why: str) -> None:
        self.setText(text)
        self.setToolTip(why)
        self.setAccessibleDescription(why)
        self.updateGeometry()
