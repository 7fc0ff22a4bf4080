"""Which theme is in force: chosen, or following the system; and at which text size."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from ui import theme as themes
from ui.fonts import load_fonts, text_font
from ui.stylesheet import style_sheet
from ui.theme import DARK, LIGHT, Theme, palette

Choice = Literal["system", "dark", "light"]
TEXT_SIZES = (1.0, 1.1, 1.25, 1.5)


def apply(application: QApplication, theme: Theme) -> None:
    """Put fonts, base style, palette and style sheet of `theme` in force at once; open windows follow."""
    load_fonts()
    themes.remember(application, theme)
    if application.style().objectName().lower() != "fusion":
        application.setStyle("Fusion")
    application.setFont(text_font(theme.px(13)))
    application.setPalette(palette(theme))
    application.setStyleSheet(style_sheet(theme))


class Appearance(QObject):
    """Owns the choice of theme. `changed` carries the Theme after it is in force."""

    changed = Signal(object)

    def __init__(
        self,
        application: QApplication,
        choice: Choice = "system",
        *,
        scale: float = 1.0,
        patterns: bool = True,
        reduce_motion: bool = False,
    ) -> None:
        super().__init__(application)
        self._application = application
        self._choice: Choice = choice
        self._scale = scale
        self._patterns = patterns
        self._reduce_motion = reduce_motion
        application.styleHints().colorSchemeChanged.connect(self._system_changed)
        self._apply()

    @property
    def choice(self) -> Choice:
        """What the user asked for; `system` follows the desktop."""
        return self._choice

    @property
    def theme(self) -> Theme:
        """The theme in force."""
        return themes.current()

    def choose(self, choice: Choice) -> None:
        """Use dark, light, or whatever the system says from now on."""
        self._choice = choice
        self._apply()

    def toggle(self) -> None:
        """Dark to light or back; this ends following the system."""
        self.choose("light" if self.theme.name == "dark" else "dark")

    def set_scale(self, scale: float) -> None:
        """Text size as a factor, one of TEXT_SIZES. Raises ValueError for another."""
        if scale not in TEXT_SIZES:
            raise ValueError(f"Text size {scale} is not one of {TEXT_SIZES}.")
        self._scale = scale
        self._apply()

    def set_patterns(self, patterns: bool) -> None:
        """Hatches in memory bars on or off."""
        self._patterns = patterns
        self._apply()

    def set_reduce_motion(self, reduce: bool) -> None:
        """Stop the stripes of progress bars."""
        self._reduce_motion = reduce
        self._apply()

    def _system_changed(self, scheme: Qt.ColorScheme) -> None:
        if self._choice == "system":
            self._apply()

    def _apply(self) -> None:
        dark = self._choice == "dark" or (
            self._choice == "system" and self._application.styleHints().colorScheme() != Qt.ColorScheme.Light
        )
        base = DARK if dark else LIGHT
        theme = replace(base, scale=self._scale, patterns=self._patterns, reduce_motion=self._reduce_motion)
        apply(self._application, theme)
        self.changed.emit(theme)
