"""The bar at the bottom: the run, the machine's memory, the disk, warnings, and the way to help."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from ui import theme as themes
from ui.format import disk, memory_of
from ui.icons import paint_icon
from ui.tr import tr
from ui.widgets.painting import rounded
from ui.widgets.text import KeyCap, Rule, Text


@dataclass(frozen=True)
class Reading:
    """What the machine says now, in bytes; None where it has no such thing."""

    memory_used: float | None = None
    memory_total: float | None = None
    gpu_used: float | None = None
    gpu_total: float | None = None
    disk_free: float | None = None
    extra: str = ""


class Meter(QWidget):
    """A bar 56 by 4 px."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_share(self, share: float) -> None:
        """0 to 1."""
        self._share = min(1.0, max(0.0, share))
        self.update()

    def sizeHint(self) -> QSize:
        """The bar."""
        return QSize(56, 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Track and part."""
        theme = themes.current()
        painter = QPainter(self)
        rounded(painter, QRectF(self.rect()), 2, theme.color("line2"))
        rounded(painter, QRectF(0, 0, max(2.0, 56 * self._share), 4), 2, theme.color("s1"))
        painter.end()


class RunMark(QWidget):
    """A ring without a run, an ember triangle with one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.running = False
        self.setFixedSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The mark."""
        painter = QPainter(self)
        name, token = ("play-filled", "ember") if self.running else ("ring", "tx2")
        paint_icon(painter, QRectF(self.rect()), name, token)
        painter.end()


class StatusBar(QWidget):
    """28 px, always visible."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mark = RunMark()
        self._run = Text("", size=12, tone="tx2")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(16, 0, 16, 0)
        self._row.setSpacing(6)
        self._row.addWidget(self._mark)
        self._row.addWidget(self._run)
        self._parts: dict[str, tuple[QWidget, Text, Meter | None]] = {}
        for key, meter in (("gpu", True), ("memory", True), ("disk", False), ("extra", False)):
            self._add_part(key, meter)
        self._row.addStretch(1)
        self._warnings = Text("", size=12, tone="tx2")
        self._row.addWidget(self._warnings)
        self._row.addSpacing(6)
        self._row.addWidget(_divider())
        self._row.addSpacing(6)
        self._row.addWidget(KeyCap("F1"))
        self._row.addWidget(Text(tr("Help for the focused control"), size=12, tone="tx2"))
        self.set_run("", False)
        self.set_reading(Reading())
        self.set_warnings(tr("No warnings"))
        self.follow_theme()

    @property
    def run_text(self) -> str:
        """What is said about the run."""
        return self._run.text()

    def set_run(self, text: str, running: bool) -> None:
        """Name the engine only while one exists; "" says that there is no run."""
        self._run.setText(text or tr("No run"))
        self._mark.running = running
        self._mark.update()

    def set_reading(self, reading: Reading) -> None:
        """Show what the machine says; what it has not is absent."""
        self._set_memory("gpu", tr("GPU memory"), reading.gpu_used, reading.gpu_total)
        self._set_memory("memory", tr("RAM"), reading.memory_used, reading.memory_total)
        free = reading.disk_free
        self._set("disk", tr("Disk {size} free", size=disk(free)) if free is not None else "")
        self._set("extra", reading.extra)

    def set_warnings(self, text: str) -> None:
        """What needs attention, in a few words."""
        self._warnings.setText(text)

    def follow_theme(self) -> None:
        """The height grows with the text size."""
        self.setFixedHeight(themes.current().px(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground and divider."""
        theme = themes.current()
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("bg0"))
        painter.fillRect(QRectF(0, 0, self.width(), 1), theme.color("line"))
        painter.end()

    def _add_part(self, key: str, with_meter: bool) -> None:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(6, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(_divider())
        row.addSpacing(6)
        name, value = Text("", size=12, tone="tx2"), Text("", size=12, tone="tx2")
        meter = Meter() if with_meter else None
        if meter is not None:
            row.addWidget(name)
            row.addWidget(meter)
        row.addWidget(value)
        holder.setProperty("part", key)
        self._row.addWidget(holder)
        self._parts[key] = (holder, value, meter)
        if meter is not None:
            name.setText(tr("GPU memory") if key == "gpu" else tr("RAM"))

    def _set_memory(self, key: str, name: str, used: float | None, total: float | None) -> None:
        holder, _, meter = self._parts[key]
        if used is None or not total:
            holder.setVisible(False)
            return
        if meter is not None:
            meter.set_share(used / total)
        self._set(key, memory_of(used, total))
        holder.setAccessibleName(f"{name}: {memory_of(used, total)}")

    def _set(self, key: str, text: str) -> None:
        holder, value, _ = self._parts[key]
        value.setText(text)
        holder.setVisible(bool(text))


def _divider() -> Rule:
    rule = Rule(vertical=True)
    rule.setFixedHeight(14)
    return rule
