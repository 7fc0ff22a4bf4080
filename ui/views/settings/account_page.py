"""The Hub account: sign in, check, sign out; and which Hub is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout

from ui.context import Context
from ui.tr import tr
from ui.views.settings.address_field import AddressField
from ui.views.settings.page import RowsCard, SettingsPage
from ui.widgets.badge import State, shape_of
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.field import TextField
from ui.widgets.text import IconLabel, Text
from ui.widgets.toggle import Toggle
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import AccountState

TOKENS_PAGE = "https://huggingface.co/settings/tokens"


class AccountPage(SettingsPage):
    """The token goes to studio and is wiped from the field; it is shown nowhere and kept by nothing here."""

    def __init__(self, context: Context) -> None:
        super().__init__(
            context, tr("Hub account"),
            tr("Only gated and private models need an account. The token lives where huggingface_hub keeps it and"
               " nowhere else: not in a recipe, a run, a log or the settings."),
        )  # fmt: skip
        self.icon, self.who = IconLabel("circle", "tx3", 20), Text("", size=15, weight=600)
        self.detail = Text("", size=12, tone="tx2", wrap=True)
        self.check, self.out = Button(tr("Check"), icon="reset"), Button(tr("Sign out"))
        self.token = TextField(tr("Token"), placeholder="hf_…", mono=True)
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.sign = Button(tr("Sign in"), icon="key", kind="primary", size="medium")
        self.sign.setEnabled(False)
        self.make = Button(tr("Make a token on the Hub"), icon="external", kind="quiet")
        self.make.setToolTip(tr("Opens {address} in your browser.", address=TOKENS_PAGE))
        self.column.addWidget(self._account())
        self.endpoint = AddressField(tr("Address of the Hub"), "HF_ENDPOINT")
        self.offline = Toggle()
        self.offline.setAccessibleName(tr("Offline"))
        card = RowsCard(tr("Which Hub"), tr("reaches the next download and the next launch"))
        card.add_row(
            tr("Address of the Hub"), tr("HF_ENDPOINT, for a mirror. Empty: as it is now."), self.endpoint, 320
        )
        card.add_row(tr("Offline"), tr("HF_HUB_OFFLINE: ask no Hub; models on this disk work."), self.offline)
        self.column.addWidget(card)
        self.column.addStretch(1)
        self._connect()

    def read(self) -> None:
        """Show the settings and ask the Hub who we are."""
        settings = self.context.services.settings.load()
        self.endpoint.set_value(settings.hub_endpoint)
        self.offline.setChecked(settings.hub_offline)
        if settings.hub_offline:
            self._show("neutral", tr("Offline"), tr("The Hub is not asked; turn Offline off to check the account."))
        else:
            self.ask()

    def ask(self) -> None:
        """Who does the token belong to?"""
        services = self.context.services
        self._busy(tr("Asking the Hub"))
        self.context.tasks.run(
            lambda control: services.hub().account.check(), owner=self, on_result=self._known, on_error=self._failed
        )

    def sign_in(self) -> None:
        """Hand the token over, and forget it here."""
        token, services = self.token.text().strip(), self.context.services
        if not token:
            return
        self.token.clear()
        self._busy(tr("Signing in"))
        self.context.tasks.run(
            lambda control: services.hub().account.sign_in(token), owner=self, touches=("account",),
            on_result=self._known, on_error=self._failed,
        )  # fmt: skip

    def sign_out(self) -> None:
        """Have huggingface_hub forget the token."""
        services = self.context.services
        self._busy(tr("Signing out"))
        self.context.tasks.run(
            lambda control: services.hub().account.sign_out(), owner=self, touches=("account",),
            on_result=self._known, on_error=self._failed,
        )  # fmt: skip

    def _account(self) -> Card:
        card = RowsCard(tr("Account"))
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(self.who)
        words.addWidget(self.detail)
        state = QHBoxLayout()
        state.setSpacing(12)
        state.addWidget(self.icon)
        state.addLayout(words, 1)
        state.addWidget(self.check)
        state.addWidget(self.out)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.token, 1)
        line.addWidget(self.sign)
        card.body.addLayout(state)
        card.body.addLayout(line)
        last = QHBoxLayout()
        last.addWidget(self.make)
        last.addStretch(1)
        card.body.addLayout(last)
        return card

    def _connect(self) -> None:
        self.check.clicked.connect(self.ask)
        self.out.clicked.connect(self.sign_out)
        self.sign.clicked.connect(self.sign_in)
        self.token.returnPressed.connect(self.sign_in)
        self.token.textChanged.connect(lambda text: self.sign.setEnabled(bool(text.strip())))
        self.make.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(TOKENS_PAGE)))
        self.endpoint.edited.connect(lambda value: self.keep(lambda settings: self.read(), hub_endpoint=value))
        self.offline.clicked.connect(lambda on: self.keep(lambda settings: self.read(), hub_offline=on))

    def _busy(self, what: str) -> None:
        self._show("neutral", what, "")
        for button in (self.check, self.out, self.sign):
            button.setEnabled(False)

    def _known(self, state: AccountState) -> None:
        where = {
            "environment": tr("The token is in the environment (HF_TOKEN), which goes before a stored one."),
            "stored": tr("The token is stored by huggingface_hub."),
        }.get(state.source, "")
        if state.problem is not None:
            self._show("bad", tr("Token refused"), f"{words_for(state.problem)} {where}")
        elif state.signed_in and state.name:
            role = {"write": tr("It may read and write."), "read": tr("It may read.")}.get(state.role, "")
            self._show("good", tr("Signed in as {name}", name=state.name), f"{role} {where}".strip())
        elif state.signed_in:
            self._show("warn", tr("Still signed in"), where)
        else:
            self._show("neutral", tr("Not signed in"), tr("Public models need no account."))
        self._ready(state.source == "stored")

    def _failed(self, error: Exception) -> None:
        words = words_for(error)
        self._show("bad", words.what, words.remedy)
        self._ready(True)

    def _ready(self, may_sign_out: bool) -> None:
        self.check.setEnabled(True)
        self.out.setEnabled(may_sign_out)
        self.out.setVisible(may_sign_out)  # absent where nobody is signed in
        self.sign.setEnabled(bool(self.token.text().strip()))

    def _show(self, state: State, title: str, detail: str) -> None:
        self.icon.set_icon(shape_of(state) or "circle", state if state != "neutral" else "tx3")
        self.who.setText(title)
        self.who.setAccessibleName(title)
        self.detail.setText(detail)
        self.detail.setVisible(bool(detail))
