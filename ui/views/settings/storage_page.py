"""Storage: what lies where, folders of models, and where the Hub's files and exports go."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from studio.settings import Settings
from ui.bridge import Latest
from ui.context import Context
from ui.tr import tr
from ui.viewmodels.storage_lines import place_lines, read_storage, short_path, total_words
from ui.views.settings.address_field import AddressField
from ui.views.settings.page import RowsCard, SettingsPage
from ui.widgets.button import Button, IconButton
from ui.widgets.place_list import PlaceList
from ui.widgets.text import Rule, Text
from ui.wording import words_for


class StoragePage(SettingsPage):
    """Sizes are measured off the GUI thread each time the page is shown."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, tr("Storage"))
        self._storing = Latest(context.tasks, self)
        self.places = PlaceList(tr("Disk"), tr("Measuring the folders"))
        self.home = Button(tr("Show home folder"), icon="folder", kind="quiet")
        self.home.setToolTip(str(context.services.home.root))
        self.add = Button(tr("Add a folder"), icon="plus")
        self.folders = QVBoxLayout()
        self.folders.setSpacing(4)
        self.hub_home = AddressField(tr("Hugging Face home"), "HF_HOME")
        self.hub_cache = AddressField(tr("Model cache"), "HF_HUB_CACHE")
        self.exports = AddressField(tr("Folder for exports"), "")
        self.column.addWidget(self._kept())
        self.column.addWidget(self._models())
        self.column.addWidget(self._hub())
        self.column.addStretch(1)
        self.add.clicked.connect(self.add_folder)
        self.home.clicked.connect(self._show_home)
        self.hub_home.edited.connect(lambda value: self.keep(self._kept_new, hub_home=value))
        self.hub_cache.edited.connect(lambda value: self.keep(self._kept_new, hub_cache=value))
        self.exports.edited.connect(lambda value: self.keep(self._kept_new, export_folder=value))

    def read(self) -> None:
        """Show the settings and measure."""
        self._show_settings(self.context.services.settings.load())
        self._measure()

    def add_folder(self) -> None:
        """Ask for a folder in which models lie."""
        chosen = QFileDialog.getExistingDirectory(self, tr("Folder with models"))
        if chosen:
            known = self.context.services.settings.load().model_folders
            self.keep(self._show_settings, model_folders=tuple(dict.fromkeys((*known, str(Path(chosen))))))

    def remove_folder(self, folder: str) -> None:
        """Look into it no more; its files stay."""
        known = self.context.services.settings.load().model_folders
        self.keep(self._show_settings, model_folders=tuple(path for path in known if path != folder))

    def _kept(self) -> RowsCard:
        card = RowsCard(tr("Where things are kept"), " ")
        card.add_to_header(self.home)
        card.meta.setText(short_path(str(self.context.services.home.root)))
        card.body.addWidget(self.places)
        return card

    def _models(self) -> RowsCard:
        card = RowsCard(tr("Folders with models"), tr("beside the model cache; nothing is copied or changed there"))
        card.add_to_header(self.add)
        card.body.addLayout(self.folders)
        return card

    def _hub(self) -> RowsCard:
        card = RowsCard(tr("Other places"), tr("reach the next launch and the next download"))
        card.add_row(
            tr("Hugging Face home"), tr("HF_HOME: caches and the token. Empty: as it is now."), self.hub_home, 360
        )
        card.add_row(
            tr("Model cache"), tr("HF_HUB_CACHE: downloaded models. Empty: below the home."), self.hub_cache, 360
        )
        card.add_row(
            tr("Folder for exports"), tr("New exports go there. Empty: in the home folder."), self.exports, 360
        )
        return card

    def _kept_new(self, settings: Settings) -> None:
        self._show_settings(settings)
        self._measure()

    def _measure(self) -> None:
        services = self.context.services
        self._storing.request(
            lambda control: read_storage(services),
            lambda storage: self.places.show_places(total_words(storage), place_lines(storage)),
            lambda error: self.places.total.setText(str(words_for(error))),
        )

    def _show_settings(self, settings: Settings) -> None:
        self.hub_home.set_value(settings.hub_home)
        self.hub_cache.set_value(settings.hub_cache)
        self.exports.set_value(settings.export_folder)
        while (item := self.folders.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for index, folder in enumerate(settings.model_folders):
            if index:
                self.folders.addWidget(Rule())
            self.folders.addWidget(self._folder(folder))
        if not settings.model_folders:
            self.folders.addWidget(Text(tr("None. Models in the cache are found by themselves."), size=12, tone="tx3"))

    def _folder(self, folder: str) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(Text(short_path(folder), size=12, mono=True, tone="tx2", elide=True), 1)
        remove = IconButton("cross", tr("Remove {folder} from the list", folder=folder))
        remove.clicked.connect(lambda: self.remove_folder(folder))
        row.addWidget(remove)
        return line

    def _show_home(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.context.services.home.root)))
