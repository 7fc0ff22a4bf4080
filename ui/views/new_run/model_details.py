"""The pane at the right of the Model step: what one model is, whether it can be trained here, and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from ui import theme as themes
from ui.format import compact
from ui.tr import tr
from ui.viewmodels.fit import training_mark
from ui.viewmodels.model_facts import ModelFacts
from ui.views.new_run.architecture_rows import ArchitectureRows
from ui.views.new_run.download_card import DownloadCard
from ui.views.new_run.file_list import FileList
from ui.views.new_run.fit_rows import FitRows
from ui.views.new_run.notice_card import NoticeCard
from ui.views.new_run.revision_row import RevisionRow
from ui.widgets.badge import BadgeLabel
from ui.widgets.button import Button
from ui.widgets.chip import FlowLayout
from ui.widgets.empty_state import EmptyState
from ui.widgets.error_card import ErrorCard
from ui.widgets.markdown_card import MarkdownCard
from ui.widgets.text import Rule, Text
from ui.wording import Words, words_for

if TYPE_CHECKING:
    from studio.hub.downloads import Download

WIDTH, NARROW, FULL_PAGE = 452, 320, 1368


class ModelDetails(QFrame):
    """`chosen`: train this model; `access_checked`: look again; `revision_picked` carries a branch or commit."""

    chosen = Signal()
    access_checked = Signal()
    revision_picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bg2")
        self.setProperty("pane", "details")
        self.setFixedWidth(themes.current().px(WIDTH))
        self.facts: ModelFacts | None = None
        self.download_card = DownloadCard()
        self._stack = QStackedWidget()
        self._empty = EmptyState(tr("No model selected"), tr("Select a model to see what it is and whether it fits."))
        self._loading = EmptyState(tr("Reading the model…"))
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._loading)
        self._stack.addWidget(self._content())
        self._failure = ErrorCard()
        self._stack.addWidget(_at_top(self._failure))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(Rule(vertical=True))
        row.addWidget(self._stack, 1)

    def fit_page(self, page: int) -> None:
        """Give way in a page narrower than that of a 1440 px window, down to 320 px."""
        theme = themes.current()
        self.setFixedWidth(max(theme.px(NARROW), min(theme.px(WIDTH), theme.px(WIDTH) - (FULL_PAGE - page))))

    def show_nothing(self) -> None:
        """No row is selected."""
        self.facts = None
        self._stack.setCurrentIndex(0)

    def show_loading(self) -> None:
        """The details are on their way."""
        self.facts = None
        self._stack.setCurrentIndex(1)

    def show_failure(self, words: Words) -> None:
        """The details could not be read."""
        self.facts = None
        self._failure.show_error(words.what, words.remedy)
        self._stack.setCurrentIndex(3)

    def show_facts(self, facts: ModelFacts, *, chosen: bool) -> None:
        """A model. `chosen`: it is the recipe's."""
        self.facts = facts
        self._owner.setText(f"{facts.owner} / " if facts.owner else "")
        self._name.setText(facts.name)
        self._page.setVisible(bool(facts.page))
        self._show_badges(facts)
        self._show_notices(facts)
        self._values.show_rows(facts.architecture)
        self._fits.show_fits(facts.fits)
        self._revision.show_revision(facts)
        self._files.show_files(facts)
        self._card.show_markdown(facts.card)
        self._card_part.setVisible(bool(facts.card))
        self.show_chosen(chosen)
        self._stack.setCurrentIndex(2)

    def show_chosen(self, chosen: bool) -> None:
        """Whether the model shown is the one that the recipe names."""
        able = self.facts is not None and self.facts.can_train and not self.facts.needs_access
        self._use.setVisible(able and not chosen)
        self._used.setVisible(chosen)

    def show_download(self, download: Download | None, *, on_disk: bool) -> None:
        """How far its files are."""
        facts = self.facts
        if facts is None:
            return
        refusal = tr("Ask for access first.") if facts.needs_access else ""
        if not facts.can_train:
            refusal = tr("It cannot be trained, so there is nothing to download it for.")
        self.download_card.show_state(download, on_disk=on_disk, size_bytes=facts.needed_bytes, refusal=refusal)
        self._files.show_states(download, on_disk=on_disk)

    def _content(self) -> QScrollArea:
        inner = QWidget()
        inner.setProperty("scrolled", "true")
        self._column = QVBoxLayout(inner)
        self._column.setContentsMargins(20, 16, 20, 16)
        self._column.setSpacing(12)
        self._add_head()
        self._notice = NoticeCard()
        self._notice.action.connect(self.access_checked)
        self._column.addWidget(self._notice)
        self._values = ArchitectureRows()
        self._fits = FitRows()
        self._column.addWidget(self._values)
        self._column.addWidget(self._fits)
        self._column.addWidget(Rule())
        self._revision = RevisionRow()
        self._revision.picked.connect(self.revision_picked)
        self._files = FileList()
        self._column.addWidget(self._revision)
        self._column.addWidget(self._files)
        self._column.addWidget(self.download_card)
        self._add_card()
        self._column.addStretch(1)
        area = QScrollArea()
        area.setWidget(inner)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _add_head(self) -> None:
        self._owner = Text("", size=18, tone="tx2")
        self._name = Text("", size=18, weight=600, elide=True)
        self._page = Button(tr("Hub page"), icon="external", kind="quiet")
        self._page.clicked.connect(lambda: self._open(self.facts.page if self.facts else ""))
        title = QHBoxLayout()
        title.setSpacing(0)
        title.addWidget(self._owner)
        title.addWidget(self._name, 1)
        title.addWidget(self._page)
        self._badges = QWidget()
        self._flow = FlowLayout(self._badges, gap=6)
        self._use = Button(tr("Use this model"), icon="check", kind="primary", size="medium")
        self._use.clicked.connect(self.chosen)
        self._used = BadgeLabel(
            tr("Chosen for this run"), "accent", icon="check", explanation=tr("The recipe names this model.")
        )
        use = QHBoxLayout()
        use.addWidget(self._use)
        use.addWidget(self._used)
        use.addStretch(1)
        self._column.addLayout(title)
        self._column.addWidget(self._badges)
        self._column.addLayout(use)

    def _add_card(self) -> None:
        self._card_part = QWidget()
        part = QVBoxLayout(self._card_part)
        part.setContentsMargins(0, 0, 0, 0)
        part.setSpacing(6)
        part.addWidget(Rule())
        part.addWidget(_section(tr("Model card")))
        self._card = MarkdownCard(tr("Model card"))
        self._card.setMinimumHeight(themes.current().px(280))
        self._card.link_clicked.connect(self._open)
        part.addWidget(self._card)
        self._column.addWidget(self._card_part)

    def _show_badges(self, facts: ModelFacts) -> None:
        while self._flow.count():
            item = self._flow.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        mark = training_mark(facts.verdict)
        supported = facts.verdict.state == "trainable"
        text = tr("Architecture supported") if supported else mark.text
        badges = [BadgeLabel(text, "good" if supported else mark.state, icon="check" if supported else None,
                             explanation=mark.why)]  # fmt: skip
        if facts.licence:
            badges.append(BadgeLabel(facts.licence, explanation=tr("The licence that the model's authors state.")))
        if facts.parameters:
            badges.append(BadgeLabel(
                tr("{count} parameters", count=compact(facts.parameters)), explanation=tr("All weights of the model.")
            ))  # fmt: skip
        if facts.is_gated and not facts.needs_access:
            badges.append(BadgeLabel(
                tr("Access granted"), "good", icon="unlock", explanation=tr("Your Hub account may download it.")
            ))  # fmt: skip
        for badge in badges:
            badge.setFixedHeight(themes.current().px(24))  # one height, so that they stand in one line
            self._flow.addWidget(badge)
            badge.show()
        self._badges.updateGeometry()

    def _show_notices(self, facts: ModelFacts) -> None:
        if facts.needs_access:
            words = words_for(facts.problem) if facts.problem else None
            title = words.what if words else tr("Its owner asks for a licence to be accepted.")
            remedy = words.remedy if words else ""
            self._notice.show_notice(title, remedy, link=facts.page, link_text=tr("Ask for access"),
                                     action=tr("Check again"))  # fmt: skip
        elif not facts.can_train:
            found = [words_for(problem) for problem in facts.verdict.problems]
            self._notice.show_notice(tr("This model cannot be trained"), "\n".join(str(words) for words in found))
        else:
            self._notice.hide()

    @staticmethod
    def _open(address: str) -> None:
        if address:
            QDesktopServices.openUrl(QUrl(address))


def _at_top(widget: QWidget) -> QWidget:
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(20, 16, 20, 16)
    column.addWidget(widget)
    column.addStretch(1)
    return holder


def _section(text: str) -> Text:
    return Text(text, size=12, weight=600, tone="tx2")
