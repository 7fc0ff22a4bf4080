"""A model's way to this disk: how far it is, how fast, and the buttons that start, hold and end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.format import disk, duration, percent, rate
from ui.tr import tr
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.progress import Progress
from ui.widgets.text import Text, Tone
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.downloads import Download


class DownloadCard(Card):
    """`wanted` carries "start", "pause", "resume", "cancel" or "remove"."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(surface="well", parent=parent)
        self.title_text = Text("", size=12, weight=600, elide=True)
        self.speed = Text("", size=12, tone="tx2")
        top = QHBoxLayout()
        top.addWidget(self.title_text, 1)
        top.addWidget(self.speed)
        self.bar = Progress(tr("Download"))
        self.note = Text("", size=12, tone="tx3", wrap=True)
        self.buttons = {
            "start": Button(tr("Download"), icon="download", kind="primary"),
            "resume": Button(tr("Resume"), icon="play", kind="primary"),
            "pause": Button(tr("Pause"), icon="pause"),
            "cancel": Button(tr("Cancel"), kind="quiet"),
            "remove": Button(tr("Remove"), kind="quiet"),
        }
        bottom = QHBoxLayout()
        bottom.setSpacing(6)
        bottom.addWidget(self.note, 1)
        for key, button in self.buttons.items():
            button.clicked.connect(lambda _checked=False, key=key: self.wanted.emit(key))
            bottom.addWidget(button)
        self.body.addLayout(top)
        self.body.addWidget(self.bar)
        self.body.addLayout(bottom)

    def show_state(self, download: Download | None, *, on_disk: bool, size_bytes: int, refusal: str = "") -> None:
        """What there is of the model: on the disk, on its way, or only on the Hub (`refusal`: why it cannot come)."""
        if on_disk:
            self._show(tr("On this disk"), tr("Whole, and found by every program that uses the Hub's cache."), ())
            self.title_text.set_tone("good")
        elif download is None or download.state == "done":
            text = tr("Not on this disk · {size}", size=disk(size_bytes))
            note = refusal or tr("Resumes where it stopped, even after a restart.")
            self._show(text, note, () if refusal else ("start",))
        elif download.is_active:
            self._show_active(download)
        else:
            self._show_stopped(download)

    def _show_active(self, download: Download) -> None:
        left = download.seconds_left
        title = tr("Waiting to download") if download.state == "waiting" else tr("Reading the list of files")
        if download.state == "loading":
            title = tr(
                "Downloading · {done} of {total}", done=disk(download.done_bytes), total=disk(download.total_bytes)
            )
        note = (
            str(words_for(download.notice))
            if download.notice
            else tr("Resumes where it stopped, even after a restart.")
        )
        self._show(title, note, ("pause", "cancel"), download)
        if download.bytes_per_second > 0:
            speed = rate(download.bytes_per_second)
            self.speed.setText(tr("{speed} · {time} left", speed=speed, time=duration(left)) if left else speed)

    def _show_stopped(self, download: Download) -> None:
        done, total = disk(download.done_bytes), disk(download.total_bytes)
        kept = tr("{done} of {total} are kept; it goes on at that byte.", done=done, total=total)
        titles = {
            "paused": tr("Paused"), "cancelled": tr("Cancelled"), "interrupted": tr("Interrupted"),
            "failed": tr("Download stopped"),
        }  # fmt: skip
        failed = download.state == "failed"
        reason = f"{words_for(download.problem)} " if download.problem else ""
        self._show(titles[download.state], reason + kept, ("resume", "remove"), download, "bad" if failed else "tx1")

    def _show(
        self, title: str, note: str, buttons: tuple[str, ...], download: Download | None = None, tone: Tone = "tx1"
    ) -> None:
        self.title_text.setText(title)
        self.title_text.set_tone(tone)
        self.speed.setText("")
        self.note.setText(note)
        for key, button in self.buttons.items():
            button.setVisible(key in buttons)
        self.bar.setVisible(download is not None)
        if download is not None:
            share = download.done_bytes / download.total_bytes if download.total_bytes else 0.0
            self.bar.set_token("bad" if tone == "bad" else "ac")
            self.bar.set_fraction(share, f"{title}, {percent(share)}")
        self.setAccessibleName(title)
        self.setAccessibleDescription(note)
