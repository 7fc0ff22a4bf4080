"""The recipe on the form, kept across restarts: `<home>/draft.yaml`, written soon after each edit.

It is no recipe of the library: it has no name of its own and only one home. A draft that cannot be read is set aside
beside it and said in the log, so that it is neither lost nor in the way.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from engine.protocol.errors import EngineError
from engine.protocol.files import write_atomically
from engine.protocol.recipe import Recipe, parse_recipe, to_yaml

_log = logging.getLogger(__name__)


class Draft:
    """`remember` is instant and for the thread that edits; `write` blocks and may be called from any thread: what is
    written is always the newest, whatever the order in which threads get there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._newest: Recipe | None = None
        self._turn = threading.Lock()

    def load(self) -> Recipe:
        """The recipe as it was left; an empty one where there is none."""
        try:
            return parse_recipe(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Recipe()
        except (EngineError, OSError, UnicodeDecodeError) as error:
            aside = self._path.with_name("draft.unreadable.yaml")
            _log.info("The draft recipe cannot be read and was set aside as %s: %s", aside, error)
            self._path.replace(aside)
            return Recipe()

    def remember(self, recipe: Recipe) -> None:
        """What the next `write` is to keep."""
        self._newest = recipe

    def write(self) -> None:
        """Keep the newest. Raises OSError; what was kept before stays then."""
        with self._turn:
            if self._newest is not None:
                write_atomically(self._path, to_yaml(self._newest))
