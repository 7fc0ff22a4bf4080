"""What a run came to, above its charts: finished with what next; stopped or paused; failed or lost with the cause."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.errors import Problem
from ui.format import disk, duration, loss, number
from ui.tr import tr
from ui.viewmodels.live_run import Snapshot
from ui.viewmodels.run_words import state_words
from ui.widgets.button import Button
from ui.widgets.card import Card
from ui.widgets.error_card import ErrorCard
from ui.widgets.text import IconLabel, Text
from ui.wording import words_for


class Outcome(QWidget):
    """Hidden while a run trains. Signals carry what the person wants next."""

    compare_wanted = Signal()
    export_wanted = Signal()
    resume_wanted = Signal()
    clone_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._icon = IconLabel("disc-check", "good", 18)
        self.title = Text("", size=15, weight=600)
        self.fact = Text("", size=13, tone="tx2", elide=True)
        self.next = Text("", size=12, tone="tx2")
        self.compare = Button(tr("Compare"), icon="compare")
        self.export = Button(tr("Export"), icon="export", kind="primary")
        self.compare.clicked.connect(self.compare_wanted)
        self.export.clicked.connect(self.export_wanted)
        self.strip = Card(surface="card")
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._icon)
        line.addWidget(self.title)
        line.addWidget(self.fact, 1)
        line.addWidget(self.next)
        line.addWidget(self.compare)
        line.addWidget(self.export)
        self.strip.body.addLayout(line)
        self.error = ErrorCard()
        self._told: object = None
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 0, 20, 10)
        column.setSpacing(8)
        column.addWidget(self.strip)
        column.addWidget(self.error)
        self.setVisible(False)

    def show_run(self, shot: Snapshot) -> None:
        """Tell the end, or hide."""
        row = shot.row
        bad = row.status in ("failed", "lost", "unreadable")
        quiet = row.status in ("finished", "stopped", "paused")
        self.setVisible(bad or quiet)
        self.strip.setVisible(quiet)
        self.error.setVisible(bad)
        told = (row.status, row.reason, row.step, shot.checkpoints, shot.log, shot.start_failure)
        if told == self._told:
            return  # or a button of the card would be replaced under the pointer
        self._told = told
        if bad:
            self._show_error(shot)
        elif quiet:
            self._show_strip(shot)

    def _show_strip(self, shot: Snapshot) -> None:
        row = shot.row
        words = state_words(row.status)
        finished = row.status == "finished"
        self._icon.set_icon(words.icon or "disc-check", "good" if finished else "tx2")
        self.title.setText(
            tr("Finished in {time}.", time=duration(row.seconds)) if finished
            else tr("{state} at step {step}.", state=words.text, step=number(row.step))
        )  # fmt: skip
        self.fact.setText(finished_words(shot) if finished else _rest_words(shot))
        best = next((item for item in shot.checkpoints if item.step == row.best_step), None)
        best = best or (shot.checkpoints[-1] if shot.checkpoints else None)
        over = row.status != "paused"
        self.compare.setVisible(over and row.step > 0)
        for widget in (self.next, self.export):
            widget.setVisible(over and best is not None)
        if best is not None:
            size = disk(best.size_bytes)
            label = tr("Best checkpoint") if best.step == row.best_step else tr("Checkpoint")
            self.next.setText(tr("{label}: step {step}, {size}", label=label, step=number(best.step), size=size))

    def _show_error(self, shot: Snapshot) -> None:
        row = shot.row
        reason = row.reason or Problem("run.unreadable", tr("This run cannot be read."))
        words = words_for(reason)
        state = state_words(row.status).text
        head = tr("{state} at step {step}: {what}", state=state, step=number(row.step), what=words.what)
        if not row.step:
            head = tr("{state}: {what}", state=state, what=words.what)
        safe = tr("Nothing was saved: no checkpoint stands.")
        if shot.checkpoints:
            last = shot.checkpoints[-1]
            again = row.step - last.step
            safe = tr("Checkpoint step {step} is safe; {count} steps will be done again.",
                      step=number(last.step), count=number(again))  # fmt: skip
        parts = [safe, words.remedy]
        if shot.start_failure is not None:
            parts.append(tr("The last resume came to nothing: {what}", what=words_for(shot.start_failure).what))
        lines = list(shot.log) or str(reason.arguments.get("log", "") or "").splitlines()
        if lines:
            parts.append(tr("Last log lines:") + "\n" + "\n".join(lines[-4:]))
        report = "\n".join([head, *parts, row.id, row.recipe, "\n".join(lines)])
        self.error.show_error(
            head, "\n".join(part for part in parts if part), actions=self._ways_on(shot), report=lambda: report
        )

    def _ways_on(self, shot: Snapshot) -> list[Button]:
        ways = []
        if shot.can_resume:
            text = tr("Resume from step {step}", step=number(shot.checkpoints[-1].step))
            resume = Button(text, icon="play", kind="primary")
            resume.clicked.connect(self.resume_wanted)
            ways.append(resume)
        clone = Button(tr("Edit the recipe"), icon="copy")
        clone.clicked.connect(self.clone_wanted)
        return [*ways, clone]


def finished_words(shot: Snapshot) -> str:
    """Evaluation loss at the end and before; training loss where nothing was evaluated."""
    points = shot.points["evaluation_loss"]
    row = shot.row
    if len(points) > 1 and row.best_evaluation_loss is not None:
        first = loss(float(points.value[0]))
        return tr("Evaluation loss {best}, from {first}.", best=loss(row.best_evaluation_loss), first=first)
    return tr("Training loss {loss}.", loss=loss(row.loss)) if row.loss is not None else ""


def _rest_words(shot: Snapshot) -> str:
    row = shot.row
    if row.status == "paused":
        return tr("The engine waits and keeps its memory. Resume goes on with the next step.")
    if row.reason is not None and row.reason.code == "run.stopped.paused_too_long":
        return tr("It was paused too long, so it saved a checkpoint and ended. Resume goes on from there.")
    return tr("Resume goes on from the checkpoint.") if shot.checkpoints else tr("No checkpoint was saved.")
