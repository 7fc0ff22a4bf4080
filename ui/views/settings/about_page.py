"""What this is, which version, under which licence; and that it sends nothing anywhere."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout

from studio.machine.doctor import versions
from ui.context import Context
from ui.tr import tr
from ui.viewmodels.storage_lines import short_path
from ui.views.settings.page import RowsCard, SettingsPage
from ui.widgets.button import Button
from ui.widgets.card import NameValues
from ui.widgets.text import IconLabel, Text


class AboutPage(SettingsPage):
    """Versions can be copied for a report."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, tr("About"))
        found = versions()
        promise = RowsCard(tr("Private by design"))
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(IconLabel("lock", "good", 18))
        line.addWidget(Text(tr("The app sends nothing anywhere."), size=15, weight=600), 1)
        promise.body.addLayout(line)
        promise.body.addWidget(
            Text(
                tr("No telemetry, no accounts of ours, no crash reports. The Hub is asked only for what you search,"
                   " download or check. Your data, runs and models stay on this machine."),
                tone="tx2", wrap=True,
            )
        )  # fmt: skip
        self.copy = Button(tr("Copy versions"), icon="copy", kind="quiet")
        self.copy.clicked.connect(
            lambda: QGuiApplication.clipboard().setText(
                ", ".join(f"{name} {version}" for name, version in found.items())
            )
        )
        card = RowsCard("Anneal Studio", " ")
        card.meta.setText(tr("Fine-tunes language models on your own machine."))
        card.add_to_header(self.copy)
        rows = NameValues(160)
        rows.set_row(tr("Version"), found["anneal-studio"])
        rows.set_row(tr("Licence"), tr("Apache License 2.0. Inter and JetBrains Mono: SIL Open Font License 1.1."))
        rows.set_row(tr("Home folder"), short_path(str(context.services.home.root)), mono=True)
        for name, version in found.items():
            if name != "anneal-studio":
                rows.set_row(name, version)
        card.body.addWidget(rows)
        self.column.addWidget(promise)
        self.column.addWidget(card)
        self.column.addStretch(1)
