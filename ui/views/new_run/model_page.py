"""Step 1 of New run: which model. The list at the left, one model at the right; choosing writes the recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ui.bridge import Control, Latest
from ui.context import Command, Context
from ui.format import number, percent
from ui.recipe_files import RecipeButtons
from ui.tr import tr
from ui.view import WizardPage
from ui.viewmodels.downloads_watch import DownloadsWatch
from ui.viewmodels.model_facts import ModelFacts, disk_facts, hub_facts, is_on_disk
from ui.views.new_run.account_label import AccountLabel
from ui.views.new_run.disk_tab import DiskTab
from ui.views.new_run.hub_tab import HubTab
from ui.views.new_run.model_details import ModelDetails
from ui.views.new_run.plan_session import PlanSession
from ui.views.new_run.step_footer import StepFooter
from ui.widgets.stepper import StepState
from ui.widgets.tabs import Tabs
from ui.widgets.text import Rule
from ui.widgets.toast import Message
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import Access, LocalModel, ModelSummary
    from studio.planning import MachineSpec

_REST_MILLISECONDS = 120  # the arrow keys run over rows faster than the Hub should be asked


class ModelPage(WizardPage):
    """Tabs Hub and On this disk, and the details of the selected row."""

    def __init__(self, context: Context, session: PlanSession) -> None:
        super().__init__(context)
        self._session = session
        self._document = context.services.document
        self._machine: MachineSpec | None = None
        self._chosen_on_disk = False
        self._details_request = Latest(context.tasks, self, _REST_MILLISECONDS)
        self._presence = Latest(context.tasks, self)
        self.downloads = DownloadsWatch(context.tasks, context.services, self)
        self.recipe_buttons = RecipeButtons(context, self)
        self.hub, self.disk, self.details = HubTab(context), DiskTab(context), ModelDetails()
        self.account = AccountLabel(context)
        self._footer = StepFooter(session)
        self._lay_out()
        self._connect()
        unsubscribe = self._document.subscribe(self._document_changed)
        self.destroyed.connect(lambda: unsubscribe())
        self._look_for_chosen()  # the step's line is told on every step, also where this page is never opened

    def arrive(self, **arguments: object) -> None:
        """Search and scan the first time; look at downloads while seen."""
        self.downloads.watch()
        self.hub.ask()
        self.disk.look()
        self.account.check()
        self._look_for_chosen()

    def leave(self) -> None:
        """Searches end; downloads are watched on while bytes come, for the step's line."""
        self.hub.rest()
        if not self.downloads.any_active:
            self.downloads.rest()

    def shutdown(self) -> None:
        """Ask no more."""
        self.hub.search.cancel()
        self.downloads.rest()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The details shrink before the list does."""
        super().resizeEvent(event)
        self.details.fit_page(self.width())

    def step_state(self) -> tuple[StepState, str]:
        """The model, and whether it is here."""
        reference = self._document.recipe.model
        if reference is None:
            return "todo", tr("Not chosen yet")
        name = reference.label().rpartition("/")[2]
        download = self.downloads.find(reference.repository, reference.revision)
        if self._chosen_on_disk:
            where = tr("on disk")
        elif download is not None and download.is_active:
            share = download.done_bytes / download.total_bytes if download.total_bytes else 0
            where = tr("downloading {share}", share=percent(share))
        else:
            where = tr("not on disk")
        return "done", tr("{name} · {where}", name=name, where=where)

    def ready(self) -> bool:
        """A model is chosen; its download may still run."""
        return self._document.recipe.model is not None

    def next_label(self) -> str:
        """Data comes next."""
        return tr("Next: data")

    def footer(self) -> QWidget:
        """The plan so far."""
        return self._footer

    def header(self) -> Sequence[QWidget]:
        """Open recipe, Save recipe."""
        return (self.recipe_buttons.open, self.recipe_buttons.save)

    def commands(self) -> Sequence[Command]:
        """What Ctrl K offers here."""
        return (
            Command(tr("Search models"), self.focus_search, icon="search"),
            Command(tr("Models on this disk"), lambda: self.show_tab("disk"), icon="disk"),
        )

    def focus_search(self) -> None:
        """Ctrl F."""
        self.show_tab("hub")
        self.hub.focus_search()

    def show_tab(self, tab: str) -> None:
        """ "hub" or "disk"."""
        self.tabs.set_value(tab)
        self._tab_picked(tab)

    def _lay_out(self) -> None:
        self.tabs = Tabs(tr("Where models are"), [("hub", tr("Hub")), ("disk", tr("On this disk"))])
        self._pages = QStackedWidget()
        self._pages.addWidget(self.hub)
        self._pages.addWidget(self.disk)
        top = QHBoxLayout()
        top.addWidget(self.tabs)
        top.addStretch(1)
        top.addWidget(self.account)
        left = QWidget()
        left.setProperty("pane", "list")
        column = QVBoxLayout(left)
        column.setContentsMargins(20, 12, 20, 12)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(Rule())
        column.addSpacing(12)
        column.addWidget(self._pages, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(left, 1)
        row.addWidget(self.details)

    def _connect(self) -> None:
        self.tabs.picked.connect(self._tab_picked)
        self.hub.selected.connect(self._hub_selected)
        self.hub.activated.connect(lambda _model: self._choose())
        self.hub.disk_wanted.connect(lambda: self.show_tab("disk"))
        self.disk.selected.connect(self._disk_selected)
        self.disk.activated.connect(lambda _model: self._choose())
        self.disk.counted.connect(self._disk_counted)
        self.details.chosen.connect(self._choose)
        self.details.revision_picked.connect(lambda revision: self._read_hub(revision))
        self.details.access_checked.connect(lambda: self._read_hub())
        self.details.download_card.wanted.connect(self._download)
        self.downloads.changed.connect(self._downloads_changed)
        self.downloads.failed.connect(self._command_failed)

    def _disk_counted(self, count: int) -> None:
        self.tabs.set_label("disk", tr("On this disk · {count}", count=number(count)))
        reference = self._document.recipe.model
        if reference is not None and self.details.facts is None and self.disk.rows.row_of(reference) is not None:
            self.show_tab("disk")
            self.disk.select(reference)

    def _tab_picked(self, tab: object) -> None:
        self._pages.setCurrentIndex(0 if tab == "hub" else 1)
        if tab == "hub":
            self._hub_selected(self.hub.current())
        else:
            self._disk_selected(self.disk.rows.model_at(self.disk.table.currentIndex().row()))

    def _hub_selected(self, model: ModelSummary | None) -> None:
        if self._pages.currentIndex() == 0:
            if model is None:
                self._show_nothing()
            else:
                self._read(partial(hub_facts, self.context.services, model.repository, "main"))

    def _disk_selected(self, model: LocalModel | None) -> None:
        if self._pages.currentIndex() == 1:
            if model is None:
                self._show_nothing()
            else:
                self._read(partial(disk_facts, self.context.services, model))

    def _read_hub(self, revision: str = "") -> None:
        facts = self.details.facts
        if facts is not None and facts.reference.source == "hub":
            wanted = revision or facts.reference.revision or "main"
            self._read(partial(hub_facts, self.context.services, facts.reference.repository, wanted))

    def _show_nothing(self) -> None:
        self._details_request.cancel()
        self.details.show_nothing()

    def _read(self, read: Callable[[MachineSpec], ModelFacts]) -> None:
        self.details.show_loading()

        def work(control: Control) -> ModelFacts:
            self._machine = self._machine or self.context.services.machine()
            return read(self._machine)

        self._details_request.request(work, self._show_facts, self._details_failed)

    def _show_facts(self, facts: ModelFacts) -> None:
        self.details.show_facts(facts, chosen=self._is_chosen(facts))
        if facts.reference.source == "hub" and self._pages.currentIndex() == 0:
            access: Access = "open" if not facts.is_gated else "ask" if facts.needs_access else "granted"
            self.hub.rows.learn(facts.reference.repository, facts.fits, access)
        self._show_download()

    def _details_failed(self, error: Exception) -> None:
        self.details.show_failure(words_for(error))

    def _choose(self) -> None:
        facts = self.details.facts
        if facts is not None and facts.can_train:
            self._document.set("model", facts.reference)

    def _is_chosen(self, facts: ModelFacts) -> bool:
        return self._document.recipe.model == facts.reference

    def _download(self, command: str) -> None:
        facts = self.details.facts
        if facts is None:
            return
        reference = facts.reference
        if command == "start":
            self._choose()
            self.downloads.start(reference.repository, reference.revision)
            return
        download = self.downloads.find(reference.repository, reference.revision)
        if download is not None:
            getattr(self.downloads, command)(download.id)

    def _downloads_changed(self) -> None:
        self._show_download()
        self._look_for_chosen()
        self.step_changed.emit()

    def _show_download(self) -> None:
        facts = self.details.facts
        if facts is not None:
            reference = facts.reference
            download = self.downloads.find(reference.repository, reference.revision)
            come = download is not None and download.state == "done"
            self.details.show_download(download, on_disk=facts.on_disk or come)

    def _document_changed(self, keys: frozenset[str]) -> None:
        if "model" in keys:
            self._chosen_on_disk = False
            if self.details.facts is not None:
                self.details.show_chosen(self._is_chosen(self.details.facts))
            self._look_for_chosen()
        self.step_changed.emit()

    def _look_for_chosen(self) -> None:
        reference = self._document.recipe.model
        if reference is not None:
            services = self.context.services
            self._presence.request(lambda control: is_on_disk(services, reference), self._presence_known)

    def _presence_known(self, here: bool) -> None:
        came = here and not self._chosen_on_disk
        self._chosen_on_disk = here
        reference = self._document.recipe.model
        download = self.downloads.find(reference.repository, reference.revision) if reference else None
        waits = not here and download is not None and download.is_active
        self._footer.set_note(tr("Launch waits for the download") if waits else "")
        if came:
            self._session.refresh()  # the plan can count the data now
            self.disk.look()
        self.step_changed.emit()

    def _command_failed(self, error: Exception) -> None:
        words = words_for(error)
        self.context.toast(Message("bad", words.what, words.remedy))
