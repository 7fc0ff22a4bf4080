"""At the right of the doctor: where things are kept, and how fast this machine was measured to be."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.machine import MachineSpec
from studio.machine.storage import Storage
from ui.format import number
from ui.tr import tr
from ui.viewmodels.storage_lines import place_lines, total_words
from ui.views.doctor.words import rate_lines
from ui.widgets.button import Button
from ui.widgets.card import NameValues
from ui.widgets.place_list import PlaceList
from ui.widgets.side_pane import SidePane
from ui.widgets.text import Rule, Text


class MachinePane(SidePane):
    """`measure_wanted` and `storage_wanted`."""

    measure_wanted = Signal()
    storage_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bg2")
        self.setProperty("pane", "machine")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.places = PlaceList(tr("Disk"), tr("Measuring the folders"))
        manage = Button(tr("Storage"), icon="disk")
        manage.setAccessibleName(tr("Open Storage"))
        manage.clicked.connect(self.storage_wanted)
        self.measure = Button(tr("Measure"), icon="bolt")
        self.measure.setAccessibleName(tr("Measure this machine"))
        self.measure.clicked.connect(self.measure_wanted)
        self.rates = NameValues(170, right=True)
        self.note = Text("", size=12, tone="tx3", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 14, 20, 14)
        column.setSpacing(10)
        column.addLayout(_heading(tr("Where things are kept"), manage))
        column.addWidget(self.places)
        column.addSpacing(4)
        column.addWidget(Rule())
        column.addLayout(_heading(tr("Measured on this machine"), self.measure))
        column.addWidget(self.rates)
        column.addWidget(self.note)
        column.addStretch(1)

    def show_storage(self, storage: Storage) -> None:
        """Show what every place takes."""
        self.places.show_places(total_words(storage), place_lines(storage))

    def wait(self) -> None:
        """The engine measures."""
        self.measure.setEnabled(False)
        self.note.set_tone("tx3")
        self.note.setText(tr("Measuring: a few seconds. Other work on this machine makes it look slower."))

    def show_machine(self, machine: MachineSpec) -> None:
        """Show the rates that plans use, and whether they are measured or assumed."""
        self.measure.setEnabled(True)
        self.measure.setText(tr("Measure again") if machine.measured else tr("Measure"))
        self.rates.set_row(tr("CPU cores"), number(machine.cores))
        for name, value in rate_lines(machine.flops(), machine.bandwidth()):
            self.rates.set_row(name, value)
        self.note.set_tone("tx3")
        self.note.setText(
            tr("Measured. Every plan uses these figures.")
            if machine.measured
            else tr("Assumed from the number of cores. Measuring makes the times of plans true.")
        )

    def say_failed(self, what: str) -> None:
        """Measuring did not work."""
        self.measure.setEnabled(True)
        self.note.set_tone("bad")
        self.note.setText(what)


def _heading(title: str, button: Button) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(Text(title, weight=600), 1)
    row.addWidget(button)
    return row
