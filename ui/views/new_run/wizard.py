"""The three steps of New run over one recipe and one plan."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence, QShortcut

from ui.context import Context
from ui.forms.form import bind_undo
from ui.shell.wizard import Wizard
from ui.shortcuts import shortcuts
from ui.tr import tr
from ui.views.new_run.data_page import DataPage
from ui.views.new_run.method_page import MethodPage
from ui.views.new_run.model_page import ModelPage
from ui.views.new_run.plan_session import PlanSession


class NewRunView(Wizard):
    """Model, Data, Method & plan. The session plans from the first visit on."""

    def __init__(self, context: Context) -> None:
        session = PlanSession(context)
        steps = (
            ("model", tr("Model"), lambda context: ModelPage(context, session)),
            ("data", tr("Data"), lambda context: DataPage(context, session)),
            ("method", tr("Method & plan"), lambda context: MethodPage(context, session)),
        )
        super().__init__(context, steps)
        session.setParent(self)
        self.session = session
        keys = shortcuts(context.services.settings.load().shortcuts)
        bind_undo(self, context.services.document, keys["undo"].keys, keys["redo"].keys)
        first = self.pages[0]
        assert isinstance(first, ModelPage)
        QShortcut(QKeySequence(keys["save"].keys), self, first.recipe_buttons.save_now).setAutoRepeat(False)
        QShortcut(QKeySequence(keys["search"].keys), self, self._search)

    def arrive(self, **arguments: object) -> None:
        """The plan is asked for with the first visit; a later one finds files and machine as they are then."""
        super().arrive(**arguments)
        self.session.refresh()

    def shutdown(self) -> None:
        """Pages end, and nothing is planned any more."""
        super().shutdown()
        self.session.close()

    def _search(self) -> None:
        page = self.pages[self.index]
        if isinstance(page, ModelPage | DataPage | MethodPage):
            page.focus_search()
