"""Settings and results of the compared runs as tables."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QWidget

from studio.recipes import FIELDS
from studio.runs.compare import MetricRow, SettingRow
from ui import theme as themes
from ui.fonts import text_font
from ui.forms.form import setting_words
from ui.tr import tr
from ui.viewmodels.comparison import Compared, delta_words, value_words
from ui.viewmodels.run_table import letter
from ui.widgets.cells import TONE_ROLE, TextDelegate
from ui.widgets.chart_pens import paint_series_sample
from ui.widgets.chart_table import RowsModel
from ui.widgets.table import DataTable

Index = QModelIndex | QPersistentModelIndex
SETTING_WIDTH, MEASURE_WIDTH, LEAST_WIDTH = 128, 148, 84


class ToneModel(RowsModel):
    """Worded rows with a tone a cell; the whole text is the tooltip."""

    def __init__(self, headers: list[str], rows: list[list[str]], tones: list[list[str]]) -> None:
        super().__init__(headers, rows)
        self._tones = tones

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text, tone, tooltip."""
        if role == TONE_ROLE:
            return self._tones[index.row()][index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return super().data(index, Qt.ItemDataRole.DisplayRole)
        return super().data(index, role)


class LineHeader(QHeaderView):
    """Headers of runs: the line of the run and its letter, "≠" where it is not like for like."""

    def __init__(self, slots: tuple[int, ...], parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._slots = slots

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """The first section is plain; the others get their line."""
        theme = themes.current()
        painter.save()
        text = str(self.model().headerData(section, Qt.Orientation.Horizontal) or "")
        x = rect.x() + 8
        if section:
            sample = QRectF(x, rect.y(), 22, rect.height())
            paint_series_sample(painter, sample, theme, self._slots[section - 1])
            x += 28
        painter.setFont(text_font(theme.px(12), 600 if section else 500))
        painter.setPen(theme.color("tx1" if section else "tx3"))
        box = QRectF(x, rect.y(), rect.right() - x, rect.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        painter.fillRect(QRectF(rect.x(), rect.bottom(), rect.width(), 1), theme.color("line"))
        painter.restore()


def headers_of(data: Compared, first: str) -> list[str]:
    """The first header, then a letter a run."""
    unlike = data.comparison.unlike
    marks = [f"{letter(slot)} ≠" if unlike[i] else letter(slot) for i, slot in enumerate(data.slots)]
    return [first, *marks]


def settings_model(data: Compared, differences_only: bool) -> ToneModel:
    """Settings in rows; where a run has what A has, it says so rather than staying blank."""
    shown = [row for row in data.comparison.settings if row.differs or not differences_only]
    rows, tones = [], []
    for row in shown:
        rows.append([tr(row.label), *_setting(row, letter(data.slots[0]))])
        same = [value == row.values[0] for value in row.values[1:]]
        tones.append(["tx2", "tx1", *("tx3" if equal else "ac-tx" for equal in same)])
    return ToneModel(headers_of(data, tr("Setting")), rows, tones)


def results_model(data: Compared) -> ToneModel:
    """Figures of A, and the others' difference to it with a sign and an arrow for better or worse."""
    rows, tones = [], []
    for metric in data.comparison.metrics:
        if all(result.value is None for result in metric.results):
            continue  # a figure that no run has hides nothing else
        cells = [_result(metric, index, bool(data.comparison.unlike[index])) for index in range(len(data.runs))]
        rows.append([_measure(metric), *(text for text, _ in cells)])
        tones.append(["tx2", *(tone for _, tone in cells)])
    return ToneModel(headers_of(data, tr("Measure")), rows, tones)


def compare_table(name: str, model: ToneModel, slots: tuple[int, ...], *, numbers: bool) -> DataTable:
    """A dense table under line headers."""
    view = DataTable(name, density="normal")
    view.setHorizontalHeader(LineHeader(slots, view))
    view.setItemDelegate(TextDelegate(view, number=numbers))
    view.setModel(model)
    view.setItemDelegateForColumn(0, TextDelegate(view))
    header = view.horizontalHeader()
    header.setMinimumSectionSize(themes.current().px(LEAST_WIDTH))
    header.setFixedHeight(themes.current().px(30))
    header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
    header.resizeSection(0, themes.current().px(MEASURE_WIDTH if numbers else SETTING_WIDTH))
    model.setParent(view)
    return view


def _setting(row: SettingRow, baseline: str) -> list[str]:
    values = [_worded(row.key, value) for value in row.values]
    same = tr("same as {run}", run=baseline)
    return [values[0], *(same if value == values[0] else value for value in values[1:])]


def _worded(key: str, text: str) -> str:
    """A setting as the form shows it: thousands and units."""
    spec = FIELDS[key]
    if spec.kind in ("integer", "number") and text:
        words = setting_words(spec, float(text))
        return words.removesuffix(f" {tr(spec.unit)}") if spec.unit and spec.unit in spec.label.lower() else words
    return tr(spec.choice_label(text)) if spec.kind == "choice" and text else text or tr("none")


def _measure(metric: MetricRow) -> str:
    """The measure, with its unit where the figures stand without: "Speed, tokens/s"."""
    bare = metric.unit in ("", "s", "bytes") or metric.unit in metric.label.lower()
    return tr(metric.label) if bare else tr("{measure}, {unit}", measure=tr(metric.label), unit=metric.unit)


def _result(metric: MetricRow, index: int, unlike: bool) -> tuple[str, str]:
    result = metric.results[index]
    return (value_words(metric, result.value), "tx1") if index == 0 else delta_words(metric, result, unlike)
