"""Doctor: is everything here that the app needs, where do things lie, and how fast is this machine?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from studio.machine import MachineSpec
from studio.machine.doctor import Check, examine, hub_address, versions
from studio.machine.report import doctor_report
from ui import theme as themes
from ui.bridge import Latest
from ui.context import Command, Context
from ui.format import clock
from ui.services import Services
from ui.settings_pages import settings_nav
from ui.shortcuts import shortcuts, shown
from ui.tr import tr
from ui.view import View
from ui.viewmodels.storage_lines import read_storage
from ui.views.doctor.checks_card import ChecksCard, VerdictCard
from ui.views.doctor.machine_pane import MachinePane
from ui.widgets.error_card import ErrorCard
from ui.widgets.toast import Message
from ui.wording import words_for

_PANE_FROM = 1160


class DoctorView(View):
    """Checks when it is first seen and on F5; all of it on worker threads."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.checks: list[Check] = []
        self._machine: MachineSpec | None = None
        self._examining = Latest(context.tasks, self)
        self._storing = Latest(context.tasks, self)
        keys = shortcuts(context.services.settings.load().shortcuts)["refresh"].keys
        self._keys = shown(keys)
        self.nav = settings_nav(context, "doctor")
        self.verdict = VerdictCard(self._keys)
        self.list = ChecksCard()
        self.error = ErrorCard()
        self.error.setVisible(False)
        self.pane = MachinePane()
        centre = QVBoxLayout()
        centre.setContentsMargins(16, 12, 16, 12)
        centre.setSpacing(12)
        centre.addWidget(self.verdict)
        centre.addWidget(self.error)
        centre.addWidget(self.list, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.nav)
        row.addLayout(centre, 1)
        row.addWidget(self.pane)
        self.verdict.again_wanted.connect(self.examine)
        self.verdict.report_wanted.connect(self.copy_report)
        self.list.page_wanted.connect(self._open_page)
        self.pane.storage_wanted.connect(lambda: self._open_page("storage"))
        self.pane.measure_wanted.connect(self.measure)
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
        shortcut.activated.connect(self.examine)

    def arrive(self, **arguments: object) -> None:
        """Check at the first visit; storage is read at each."""
        self.nav.select("doctor")
        if not self.checks and not self._examining.pending:
            self.examine()
        else:
            self._read_storage()

    def crumbs(self) -> Sequence[str]:
        """Settings › Doctor."""
        return tr("Settings"), tr("Doctor")

    def commands(self) -> Sequence[Command]:
        """The screen's own actions."""
        return [
            Command(tr("Check this machine again"), self.examine, keys=self._keys, icon="reset"),
            Command(tr("Copy the doctor's report"), self.copy_report, icon="copy"),
            Command(tr("Measure this machine"), self.measure, icon="bolt"),
        ]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the checks take the room; Storage and the command field have the rest."""
        super().resizeEvent(event)
        self.pane.setVisible(self.width() >= themes.current().px(_PANE_FROM))

    def examine(self) -> None:
        """Run all checks."""
        services = self.context.services
        self.verdict.wait()
        self._examining.request(lambda control: _examined(services), self._examined, self._failed)
        self._read_storage()

    def measure(self) -> None:
        """Have the engine measure this machine; plans use the rates from then on."""
        services = self.context.services
        self.pane.wait()
        self.context.tasks.run(
            lambda control: services.studio.rates.measure(services.machine()), owner=self, touches=("machine",),
            on_result=self._measured, on_error=lambda error: self.pane.say_failed(str(words_for(error))),
        )  # fmt: skip

    def copy_report(self) -> None:
        """Put the report on the clipboard, without names of users and without tokens."""
        if self.checks:
            QGuiApplication.clipboard().setText(doctor_report(self.checks, versions(), self._machine))
            told = tr("No token and no user name is in it.")
            self.context.toast(Message("good", tr("Report copied"), told))

    def _read_storage(self) -> None:
        services = self.context.services
        self._storing.request(
            lambda control: read_storage(services), self.pane.show_storage,
            lambda error: self.pane.places.total.setText(str(words_for(error))),
        )  # fmt: skip

    def _examined(self, found: tuple[list[Check], MachineSpec]) -> None:
        self.checks, self._machine = found
        self.error.setVisible(False)
        self.verdict.show_checks(self.checks, clock(datetime.now(UTC), seconds=True))
        self.list.show_checks(self.checks)
        self.pane.show_machine(self._machine)

    def _measured(self, machine: MachineSpec) -> None:
        self._machine = machine
        self.pane.show_machine(machine)

    def _failed(self, error: Exception) -> None:
        self.verdict.again.setEnabled(True)
        self.verdict.when.setText("")
        words = words_for(error)
        self.error.show_error(
            tr("The checks did not run"), str(words), report=lambda: f"{type(error).__name__}: {error}"
        )

    def _open_page(self, page: str) -> None:
        self.context.navigate("settings", page=page)


def _examined(services: Services) -> tuple[list[Check], MachineSpec]:
    settings = services.settings.load()
    offline = settings.hub_offline or os.environ.get("HF_HUB_OFFLINE") == "1"
    address = None if offline else hub_address(settings, os.environ)
    return examine(services.home, os.environ, hub_address=address), services.machine()
