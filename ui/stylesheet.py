"""The one style sheet, made from resources/themes/studio.qss and the theme's tokens.

Selectors use dynamic properties rather than object names: a widget says what it is (`kind`, `tone`, `surface`) and
not how it looks. Focus rings of buttons are drawn by `ui.widgets.focus_ring`; fields show theirs as a 2 px border.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import cache

from ui.fonts import MONO_FAMILY, RESOURCES
from ui.theme import Theme

_TOKEN = re.compile(r"@([a-z0-9_]+)")
_LENGTH = re.compile(r"\{(\d+)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@cache
def _template() -> str:
    text = (RESOURCES / "themes" / "studio.qss").read_text(encoding="utf-8")
    return _COMMENT.sub("", text).replace("$mono", MONO_FAMILY)


def style_sheet(theme: Theme) -> str:
    """The application's QSS for one theme and text size. Raises KeyError for a token that the theme lacks."""
    colours = {field.name: getattr(theme, field.name) for field in fields(theme)}
    text = _TOKEN.sub(lambda match: str(colours[match[1]]), _template())
    return _LENGTH.sub(lambda match: str(theme.px(int(match[1]))), text)
