"""The top of Live: which run, its state, how far it is, and what can be asked of it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from studio.runs.commands import Asked
from studio.runs.rows import RunRow
from ui import theme as themes
from ui.format import about, duration, number
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.viewmodels.run_words import command_words, method_words, state_words
from ui.widgets.badge import BadgeLabel
from ui.widgets.button import Button
from ui.widgets.progress import Progress
from ui.widgets.text import Text
from ui.wording import words_for


class RunHeader(QWidget):
    """Signals carry wishes; `picked` a run id out of the switcher."""

    picked = Signal(str)
    checkpoint_wanted = Signal()
    pause_wanted = Signal()
    stop_wanted = Signal()
    cancel_wanted = Signal()
    resume_wanted = Signal()
    notch_wanted = Signal(float)

    def __init__(self, keys: dict[str, str]) -> None:
        super().__init__()
        self.setProperty("surface", "bg2")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("pane", "run")
        self._recent: tuple[RunRow, ...] = ()
        self.switcher = Button("", size="medium", trailing="chevron-down")
        self.switcher.clicked.connect(self._open_switcher)
        self.badge = BadgeLabel("")
        self.alarm = BadgeLabel("", "bad")
        self.asked = BadgeLabel("", "accent", icon="clock")
        self.about = Text("", size=12, tone="tx2", elide=True)
        self.progress = Progress(tr("Progress of the run"), 8)
        self.progress.notch_clicked.connect(self.notch_wanted)
        self.step, self.time = Text("", size=12, weight=600), Text("", size=12, tone="tx2")
        self.saved, self.attempt = Text("", size=12, tone="tx3", elide=True), Text("", size=12, tone="tx3")
        self.checkpoint = Button(tr("Checkpoint now"), icon="save", size="medium", keys=keys["save"])
        self.pause = Button(tr("Pause"), icon="pause", size="medium", keys=keys["pause"])
        self.stop = Button(tr("Stop & save").replace("&", "&&"), icon="stop", kind="risky", size="medium")
        self.stop.setAccessibleName(tr("Stop & save"))
        self.cancel = Button(tr("Cancel"), icon="cross", size="medium")
        self.resume = Button(tr("Resume"), icon="play", kind="primary", size="medium")
        wishes = (
            (self.checkpoint, self.checkpoint_wanted), (self.pause, self.pause_wanted), (self.stop, self.stop_wanted),
            (self.cancel, self.cancel_wanted), (self.resume, self.resume_wanted),
        )  # fmt: skip
        for button, signal in wishes:
            button.clicked.connect(lambda _checked=False, signal=signal: signal.emit())
        self._lay_out()

    def show_run(self, shot: Snapshot) -> None:
        """Everything of the header for the run as it is now."""
        row = shot.row
        self._recent = shot.recent
        self.switcher.setText(row.name.replace("&", "&&"))
        self.switcher.setAccessibleName(tr("Run: {name}", name=row.name))
        words = state_words(row.status)
        self.badge.set_badge(words.text, words.state, icon=words.icon, explanation=_state_help(row))
        self._show_alarm(row)
        self.about.setText(" · ".join(part for part in (row.model, method_words(row), row.precision.upper()) if part))
        self._show_progress(shot)
        self._show_buttons(shot)

    def _show_alarm(self, row: RunRow) -> None:
        """Not finite numbers stay visible in the state, whatever the last step was."""
        self.alarm.setVisible(row.non_finite > 0)
        if row.non_finite:
            now = row.is_active and row.loss is None
            text = tr("Loss not finite") if now else tr("{count} × not finite", count=number(row.non_finite))
            self.alarm.set_badge(text, "bad" if now else "warn", explanation=tr("See the marks in the charts."))

    def _show_progress(self, shot: Snapshot) -> None:
        row, total = shot.row, shot.row.total_steps
        known = total is not None and total > 0 and row.status not in ("launching", "preparing")
        for widget in (self.progress, self.step, self.time, self.saved, self.attempt):
            widget.setVisible(known)
        if total is None or not known:
            return
        words = tr("Step {step} of {total}", step=number(row.step), total=number(total))
        remains = row.remaining_seconds is not None and row.is_active
        narrow = self.width() < themes.current().px(1100)  # what is left goes before what is gone
        times = [] if remains and narrow else [tr("{time} elapsed", time=duration(row.seconds))]
        if row.remaining_seconds is not None and row.is_active:
            times.append(tr("{time} left", time=about(row.remaining_seconds)))
        self.step.setText(words)
        self.time.setText(" · ".join(times))
        self.progress.set_fraction(row.step / total, words)
        self.progress.set_notches(checkpoint.step / total for checkpoint in shot.checkpoints)
        last = shot.checkpoints[-1].step if shot.checkpoints else None
        self.saved.setText(
            tr("no checkpoint yet") if last is None else tr("Checkpoint: step {step}", step=number(last))
        )
        self.attempt.setText(tr("attempt {number}", number=number(max(1, row.attempt))))

    def _show_buttons(self, shot: Snapshot) -> None:
        row = shot.row
        working = row.status in ("training", "paused")
        waiting = {asked.command for asked in shot.asked if asked.attempt == row.attempt} if row.is_active else set()
        for button in (self.checkpoint, self.pause, self.stop):
            button.setVisible(working)
        self.cancel.setVisible(row.status in ("launching", "preparing"))
        self.resume.setVisible(shot.can_resume and row.status == "stopped")  # else the card of the cause has it
        paused = row.status == "paused"
        self.pause.setText(tr("Resume") if paused else tr("Pause"))
        self.pause.set_icon("play" if paused else "pause")
        self.checkpoint.setEnabled("SaveCheckpoint" not in waiting and "StopRun" not in waiting)
        self.pause.setEnabled(not waiting & {"PauseRun", "UnpauseRun", "StopRun"})
        self._show_asked(shot.asked, waiting)

    def _show_asked(self, asked: tuple[Asked, ...], waiting: set[str]) -> None:
        """The time between a wish and the engine's answer."""
        self.asked.setVisible(bool(waiting))
        if waiting:
            newest = next(item.command for item in reversed(asked) if item.command in waiting)
            text = tr("{command}: asked", command=command_words(newest))
            self.asked.set_badge(text, "accent", icon="clock", explanation=tr("The engine answers after its step."))

    def _lay_out(self) -> None:
        states = QHBoxLayout()
        states.setSpacing(8)
        for badge in (self.badge, self.alarm, self.asked):
            states.addWidget(badge)
        states.addWidget(self.about, 1)
        left = QVBoxLayout()
        left.setSpacing(4)
        name = QHBoxLayout()
        name.addWidget(self.switcher)
        name.addStretch(1)
        left.addLayout(name)
        left.addLayout(states)
        middle = QVBoxLayout()
        middle.setSpacing(3)
        above, below = QHBoxLayout(), QHBoxLayout()
        above.addWidget(self.step)
        above.addStretch(1)
        above.addWidget(self.time)
        below.addWidget(self.saved, 1)
        below.addWidget(self.attempt)
        middle.addStretch(1)
        middle.addLayout(above)
        middle.addWidget(self.progress)
        middle.addLayout(below)
        middle.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(20, 6, 20, 6)
        row.addLayout(left, 4)
        row.addLayout(middle, 5)
        for button in (self.cancel, self.checkpoint, self.pause, self.stop, self.resume):
            row.addWidget(button)
        row.setSpacing(8)

    def _open_switcher(self) -> None:
        self.switcher_menu().popup(self.switcher.mapToGlobal(QPoint(0, self.switcher.height() + 4)))

    def switcher_menu(self) -> QMenu:
        """Active runs and the last five; the menu deletes itself when it is replaced."""
        for old in self.switcher.findChildren(QMenu):
            old.deleteLater()
        menu = QMenu(self.switcher)
        menu.setAccessibleName(tr("Runs"))
        for index, row in enumerate(self._recent):
            if index and not row.is_active and self._recent[index - 1].is_active:
                menu.addSeparator()
            text = f"{row.name}   {state_words(row.status).text}".replace("&", "&&")
            action = menu.addAction(text)
            action.triggered.connect(lambda _checked=False, run=row.id: self.picked.emit(run))
        return menu


def _state_help(row: RunRow) -> str:
    """What the state means for the person who looks."""
    if row.status in ("launching", "preparing"):
        return tr("The engine reads the model and the data; charts appear with the first step.")
    if row.status == "training":
        return tr("The engine trains in a process of its own and goes on when this window is closed.")
    if row.status == "paused":
        return tr("Nothing is computed. Resume goes on with the next step.")
    return str(words_for(row.reason)) if row.reason is not None else tr("No engine works on this run.")
