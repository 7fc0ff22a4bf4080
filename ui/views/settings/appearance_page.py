"""How the window looks: theme, text size, patterns, motion. All of it at once, and kept."""

from __future__ import annotations

from typing import cast

from ui.appearance import Choice
from ui.context import Context
from ui.format import percent
from ui.tr import tr
from ui.views.settings.page import RowsCard, SettingsPage
from ui.widgets.segmented import SegmentedControl
from ui.widgets.toggle import Toggle

_SIZES = (100, 110, 125, 150)


class AppearancePage(SettingsPage):
    """Each control changes the window and then the settings file."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, tr("Appearance"))
        self.theme = SegmentedControl(
            tr("Theme"), [("system", tr("As the system")), ("dark", tr("Dark")), ("light", tr("Light"))]
        )
        self.text_size = SegmentedControl(tr("Text size"), [(size, percent(size / 100)) for size in _SIZES])
        self.patterns, self.motion = Toggle(), Toggle()
        self.patterns.setAccessibleName(tr("Patterns in bars"))
        self.motion.setAccessibleName(tr("Reduce motion"))
        card = RowsCard(tr("Window"))
        card.add_row(tr("Theme"), tr("Changes at once. Ctrl Shift T goes between dark and light."), self.theme)
        card.add_row(tr("Text size"), tr("Rows and controls grow with it; panes scroll then."), self.text_size)
        card.add_row(
            tr("Patterns in bars"),
            tr("Memory categories are told apart by pattern as well as by colour."),
            self.patterns,
        )
        card.add_row(tr("Reduce motion"), tr("Stops the moving stripes of progress bars."), self.motion)
        self.column.addWidget(card)
        self.column.addStretch(1)
        self.theme.picked.connect(self._choose_theme)
        self.text_size.picked.connect(self._choose_size)
        self.patterns.clicked.connect(self._choose_patterns)
        self.motion.clicked.connect(self._choose_motion)
        context.appearance.changed.connect(self._theme_changed)  # a method: Qt lets go of it with the page

    def read(self) -> None:
        """Show what is in force, also after the theme was changed by its key."""
        appearance = self.context.appearance
        self.theme.set_value(appearance.choice)
        self.text_size.set_value(round(appearance.theme.scale * 100))
        self.patterns.setChecked(appearance.theme.patterns)
        self.motion.setChecked(appearance.theme.reduce_motion)

    def _theme_changed(self, theme: object) -> None:
        self.read()

    def _choose_theme(self, value: object) -> None:
        choice = cast("Choice", value)
        self.context.appearance.choose(choice)
        self.keep(theme=choice)

    def _choose_size(self, value: object) -> None:
        size = cast("int", value)
        self.context.appearance.set_scale(size / 100)
        self.keep(text_size=size)

    def _choose_patterns(self, on: bool) -> None:
        self.context.appearance.set_patterns(on)
        self.keep(patterns_in_bars=on)

    def _choose_motion(self, on: bool) -> None:
        self.context.appearance.set_reduce_motion(on)
        self.keep(reduce_motion=on)
