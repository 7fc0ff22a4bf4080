"""Every visible string goes through here, so that a translation, or the pseudo-locale, reaches all of them.

`tr("{count} of {total} models", count="142", total="1,386")`: numbers come already worded by `ui.format`.
"""

from __future__ import annotations

import math
import re

from PySide6.QtCore import QCoreApplication, QObject, QTranslator

from ui.format import number

CONTEXT = "studio"
_HELD = re.compile(r"(\{[^}]*\}|<[^>]*>|&\w+;)")
_ACCENTS = str.maketrans("aceinosuyzACEINOSUYZ", "åçéîñöšûýžÅÇÉÎÑÖŠÛÝŽ")
_PADDING = "one two three four five six seven eight nine ten eleven twelve "


def tr(text: str, /, **arguments: object) -> str:
    """`text` in the user's language with `{name}` filled in. Raises KeyError for an argument that was not given."""
    translated = QCoreApplication.translate(CONTEXT, text)
    return translated.format(**arguments) if arguments else translated


def plural(count: int, one: str, other: str, /, **arguments: object) -> str:
    """`one` or `other` by `count`; `{count}` in them is the worded number."""
    return tr(one if count == 1 else other, count=number(count), **arguments)


def pseudo(text: str) -> str:
    """`text` accented and 30 % longer, with `{arguments}` and markup left alone."""
    accented = "".join(part if index % 2 else part.translate(_ACCENTS) for index, part in enumerate(_HELD.split(text)))
    visible = len(_HELD.sub("", text))
    extra = math.ceil(visible * 0.3)
    return accented + ("~" * extra if extra < 4 else " " + (_PADDING * (extra // len(_PADDING) + 1))[: extra - 1])


class PseudoLocale(QTranslator):
    """A translator that makes untranslated and too narrow places visible."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)

    def isEmpty(self) -> bool:
        """Qt skips empty translators; this one answers for every text."""
        return False

    def translate(
        self, context: str, source: str | bytes | None, disambiguation: str | bytes | None = None, n: int = -1
    ) -> str:
        """The pseudo form of our own strings; Qt's own stay as they are."""
        if context != CONTEXT or not source:
            return ""
        return pseudo(source.decode() if isinstance(source, bytes) else source)
