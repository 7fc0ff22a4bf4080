"""Exports that are under way and those of the run's history: one line each, newest on top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from studio.runs.rows import ExportRow
from ui.format import date_time, disk, number
from ui.tr import tr
from ui.views.export.queue import Job
from ui.views.export.words import format_name, overall, phase_words, progress_detail, result_badge
from ui.widgets.badge import BadgeLabel
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.progress import Progress
from ui.widgets.text import Rule, Text


class JobRow(QWidget):
    """One export under way, with its way out."""

    cancel_wanted = Signal(object)

    def __init__(self, job: Job, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.job = job
        name = format_name(job.kind)
        self.bar = Progress(tr("Progress of {format}", format=name))
        self.bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.words = Text("", size=12, tone="tx2")
        self.cancel = Button(tr("Cancel"), kind="quiet")
        self.cancel.setAccessibleName(tr("Cancel {format}, step {step}", format=name, step=number(job.step)))
        self.cancel.clicked.connect(lambda: self.cancel_wanted.emit(self.job))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 5, 0, 5)
        row.setSpacing(12)
        row.addWidget(Text(tr("{format}, step {step}", format=name, step=number(job.step)), weight=500))
        row.addWidget(self.bar, 1)
        row.addWidget(self.words)
        row.addWidget(self.cancel)
        self.refresh()

    def refresh(self) -> None:
        """Show how far it is."""
        job = self.job
        waiting, cancelling = job.state == "waiting", job.state == "cancelling"
        detail = progress_detail(job.progress)
        words = phase_words(job.progress) + (f" · {detail}" if detail else "")
        self.words.setText(tr("Waits for the one before it") if waiting else tr("Cancelling") if cancelling else words)
        self.bar.set_fraction(0.0 if waiting else overall(job.progress), self.words.text())
        self.cancel.setEnabled(not cancelling)


class ExportLine(QWidget):
    """One export of the history: result, place, size, and the way to it."""

    picked = Signal(object)

    def __init__(self, export: ExportRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.export = export
        folder = Path(export.path)
        text, state, why = result_badge(export)
        name = tr("{format}, step {step}", format=format_name(export.format), step=number(export.checkpoint_step))
        badge = BadgeLabel(text, state, explanation=why)
        badge.setAccessibleName(tr("{name}: {result}", name=name, result=text))
        when = date_time(export.time_utc) if export.time_utc else ""
        size = disk(export.size_bytes) if export.size_bytes else ""
        place = Text(str(folder), size=12, tone="tx3", mono=True, elide=True)
        details = Button(tr("Details"), kind="quiet")
        details.setAccessibleName(tr("Details of {folder}", folder=folder.name))
        details.clicked.connect(lambda: self.picked.emit(self.export))
        show = Button(tr("Show"), icon="folder", kind="quiet")
        show.setAccessibleName(tr("Show {folder}", folder=folder.name))
        show.setToolTip(str(folder))
        show.clicked.connect(lambda: open_folder(folder))
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(Text(name, weight=500))
        column.addWidget(place)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 0, 4)
        row.setSpacing(10)
        facts = Text(" · ".join(part for part in (size, when) if part), size=12, tone="tx2", elide=True)
        facts.setMaximumWidth(facts.fontMetrics().horizontalAdvance(facts.text()) + 8)
        row.addLayout(column, 3)
        row.addWidget(badge)
        row.addWidget(facts, 2)
        row.addWidget(details)
        row.addWidget(show)


class ExportsCard(Card):
    """`folder_wanted`: another place for new exports. `picked`: an export whose details are wanted."""

    folder_wanted = Signal()
    picked = Signal(object)
    cancel_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Exports of this run"), " ", parent=parent)
        self.setAccessibleName(tr("Exports of this run"))
        self.change = Button(tr("Change folder"), icon="folder", kind="quiet")
        self.change.clicked.connect(self.folder_wanted)
        self.add_to_header(self.change)
        self._inside = QWidget()
        self._inside.setProperty("scrolled", True)
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 6, 0)
        self._column.setSpacing(0)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(self._inside)
        self.body.addWidget(area, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self._empty = Text(tr("Nothing exported yet. What you export stays listed here."), tone="tx3")
        self._rows: dict[object, QWidget] = {}
        self._show(())

    def refresh(self, jobs: Sequence[Job], exports: Sequence[ExportRow]) -> None:
        """Show them. A line that is shown already stays the same widget, so that it keeps its focus."""
        under_way = {str(job.target) for job in jobs}
        wanted: list[object] = [id(job) for job in jobs]
        made: dict[object, object] = {id(job): job for job in jobs}
        lines = [export for export in exports if export.path not in under_way]
        wanted += lines
        if wanted != list(self._rows):
            self._show([(key, made.get(key, key)) for key in wanted])
        for row in self._rows.values():
            if isinstance(row, JobRow):
                row.refresh()

    def _show(self, entries: Sequence[tuple[object, object]]) -> None:
        while (item := self._column.takeAt(0)) is not None:
            if isinstance(rule := item.widget(), Rule):
                rule.setParent(None)
                rule.deleteLater()
        keys = {key for key, _ in entries}
        for key in [key for key in self._rows if key not in keys]:
            gone = self._rows.pop(key)
            gone.setParent(None)
            gone.deleteLater()
        self._rows = {key: self._rows.get(key) or self._line(entry) for key, entry in entries}
        for index, row in enumerate(self._rows.values()):
            if index:
                self._column.addWidget(Rule())
            self._column.addWidget(row)
        self._column.addWidget(self._empty)
        self._empty.setVisible(not self._rows)
        self._column.addStretch(1)

    def _line(self, entry: object) -> QWidget:
        if isinstance(entry, Job):
            row = JobRow(entry)
            row.cancel_wanted.connect(self.cancel_wanted)
            return row
        assert isinstance(entry, ExportRow)
        line = ExportLine(entry)
        line.picked.connect(self.picked)
        return line


def open_folder(folder: Path) -> None:
    """Show a folder, or the nearest that there is, in the desktop's own window."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
