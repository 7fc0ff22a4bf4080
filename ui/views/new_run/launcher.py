"""From a plan to a run: once, however often it is asked for."""

from __future__ import annotations

import secrets

from PySide6.QtCore import QObject, Signal

from ui.bridge import Control
from ui.context import Context
from ui.tr import tr
from ui.views.new_run.plan_session import PlanSession
from ui.widgets.toast import Message
from ui.wording import words_for


class Launcher(QObject):
    """One launch a visit of the page. `changed` tells that `busy` did.

    Launching while a newer plan is on its way waits for that plan: what is launched is what the form says.
    """

    changed = Signal()

    def __init__(self, context: Context, session: PlanSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context, self._session = context, session
        self._waiting = self._flying = self._launched = False
        self._tags: tuple[str, ...] = ()
        self._token = secrets.token_hex(8)
        session.changed.connect(self._plan_changed)

    @property
    def busy(self) -> bool:
        """Whether a launch is wanted, under way, or done in this visit."""
        return self._waiting or self._flying or self._launched

    def new_visit(self) -> None:
        """The page was come to: the next launch is another run."""
        if self._launched:
            self._launched, self._token = False, secrets.token_hex(8)
            self.changed.emit()

    def launch(self, tags: tuple[str, ...] = ()) -> None:
        """Launch the plan, or wait for it. Asking again does nothing."""
        if self.busy:
            return
        self._tags, self._waiting = tags, True
        self.changed.emit()
        self._plan_changed()

    def _plan_changed(self) -> None:
        if not self._waiting or self._session.pending:
            return
        self._waiting = False
        if self._session.can_launch:
            self._start()
        else:
            fix = self._session.nearest_fix()
            self._context.toast(Message("bad", tr("Not launched"), fix or tr("There is no plan to launch.")))
        self.changed.emit()

    def _start(self) -> None:
        planned, services = self._session.planned, self._context.services
        assert planned is not None and planned.plan is not None, "can_launch says that there is a plan"
        recipe, plan, token, tags = planned.recipe, planned.plan, self._token, self._tags
        self._flying = True

        def work(control: Control) -> str:
            return services.runs.launch(recipe, plan, token=token, tags=tags)

        self._context.tasks.run(work, owner=self, on_result=self._done, on_error=self._failed, touches=("runs",))

    def _done(self, run_id: str) -> None:
        self._flying, self._launched = False, True
        self.changed.emit()
        self._context.watch.now()
        self._context.navigate("live", run=run_id)

    def _failed(self, error: Exception) -> None:
        self._flying = False
        self.changed.emit()
        words = words_for(error)
        self._context.toast(Message("bad", tr("Not launched. {what}", what=words.what), words.remedy))
