"""The files that a model needs, and what has become of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from ui.format import disk
from ui.tr import plural, tr
from ui.viewmodels.model_facts import FileFact, ModelFacts
from ui.widgets.text import Text, Tone

if TYPE_CHECKING:
    from studio.hub.downloads import Download


class FileList(QWidget):
    """A row for each file: name, size, state."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(6)
        self._grid.setHorizontalSpacing(10)
        self._grid.setColumnStretch(0, 1)
        self._files: tuple[FileFact, ...] = ()
        self._states: list[Text] = []

    def show_files(self, facts: ModelFacts) -> None:
        """Make the rows; `show_states` fills the last column."""
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._files, self._states = facts.files, []
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for row, file in enumerate(self._files):
            size, state = Text(disk(file.size_bytes), size=12, tone="tx2"), Text("", size=12, tone="tx3")
            for text in (size, state):
                text.setAlignment(right)
            name = Text(file.label, size=12, mono=True, elide=True)
            name.setAccessibleDescription(", ".join(file.names))
            self._grid.addWidget(name, row, 0)
            self._grid.addWidget(size, row, 1)
            self._grid.addWidget(state, row, 2)
            self._states.append(state)
        if facts.other_files:
            rest = plural(facts.other_files, "{count} other file is not needed", "{count} other files are not needed")
            self._grid.addWidget(Text(rest, size=12, tone="tx3"), len(self._files), 0, 1, 3)

    def show_states(self, download: Download | None, *, on_disk: bool) -> None:
        """What a download has done so far, file by file."""
        for file, text in zip(self._files, self._states, strict=True):
            words, tone = _state(file, download, on_disk)
            text.setText(words)
            text.set_tone(tone)


def _state(file: FileFact, download: Download | None, on_disk: bool) -> tuple[str, Tone]:
    if on_disk:
        return tr("On this disk"), "good"
    known = [state for state in download.files if state.name in file.names] if download else []
    if not known:
        return "", "tx3"
    if len(file.names) > 1:
        whole = sum(state.state in ("verified", "unverified", "on_disk") for state in known)
        if all(state.state == "verified" for state in known):
            return tr("Verified"), "good"
        text = tr("{done} of {total} verified", done=whole, total=len(file.names))
        return text, "good" if whole == len(file.names) else "ac-tx"
    words: dict[str, tuple[str, Tone]] = {
        "waiting": (tr("Waiting"), "tx3"), "loading": (tr("Loading"), "ac-tx"), "verified": (tr("Verified"), "good"),
        "unverified": (tr("Not verified"), "warn"), "on_disk": (tr("On this disk"), "good"),
    }  # fmt: skip
    return words[known[0].state]
