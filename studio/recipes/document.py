"""A recipe that is being edited. Forms and `--set` change it by the same methods, and every change can be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from engine.protocol.errors import Problem
from engine.protocol.fields import FIELDS
from engine.protocol.recipe import Recipe, check, from_mapping, value_or_default
from studio.recipes.setting_text import Value, field, parse_setting

Subscriber = Callable[[frozenset[str]], None]


class RecipeDocument:
    """Holds one immutable recipe at a time, and those before and after it.

    A value out of range is taken (a form shows it with its problem); a value of the wrong type is refused.
    """

    def __init__(self, recipe: Recipe | None = None) -> None:
        self._recipe = recipe or Recipe()
        self._saved = self._recipe
        self._before: list[Recipe] = []
        self._after: list[Recipe] = []
        self._subscribers: list[Subscriber] = []

    @property
    def recipe(self) -> Recipe:
        return self._recipe

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    @property
    def is_saved(self) -> bool:
        return self._recipe == self._saved

    def set(self, key: str, value: Value) -> None:
        """Change one key; None is the default. Raises SurroundingsError("unknown_key" | "wrong_type")."""
        self.edit({key: value})

    def set_text(self, key: str, text: str) -> None:
        """Change one key to what a text stands for (see `parse_setting`, also for what it raises)."""
        self.edit({key: parse_setting(key, text)})

    def reset(self, key: str) -> None:
        """Back to the default."""
        self.edit({key: () if FIELDS[field(key).key].kind == "datasets" else None})

    def edit(self, changes: Mapping[str, Value]) -> None:
        """Change several keys as one step of undo ("Apply" of a proposal)."""
        for key in changes:
            field(key)
        content: dict[str, object] = {
            name: value for name, value in msgspec.to_builtins(self._recipe).items() if value is not None
        }
        content.update({key: msgspec.to_builtins(value) for key, value in changes.items()})
        changed = from_mapping({key: value for key, value in content.items() if value is not None})
        if changed != self._recipe:
            self._before.append(self._recipe)
            self._after.clear()
            self._show(changed)

    def replace(self, recipe: Recipe) -> None:
        """Another recipe (a preset, a clone of a run), as one step of undo."""
        if recipe != self._recipe:
            self._before.append(self._recipe)
            self._after.clear()
            self._show(recipe)

    def undo(self) -> None:
        """Nothing happens where nothing can be undone."""
        if self._before:
            self._after.append(self._recipe)
            self._show(self._before.pop())

    def redo(self) -> None:
        if self._after:
            self._before.append(self._recipe)
            self._show(self._after.pop())

    def value(self, key: str) -> Value:
        """The value in force: what is set, else the default."""
        value: Value = getattr(self._recipe, field(key).key)
        return value if FIELDS[key].kind in ("model", "datasets") else value_or_default(self._recipe, key)

    def default(self, key: str) -> Value:
        """What the key would be if it were not set; it may depend on other keys."""
        return field(key).default(self._recipe)

    def is_changed(self, key: str) -> bool:
        """Whether the key is set to something else than its default. Model and datasets have none to differ from."""
        set_to = getattr(self._recipe, key)
        if FIELDS[key].kind in ("model", "datasets"):
            return False
        return set_to is not None and set_to != self.default(key)

    def changed_keys(self) -> list[str]:
        """In the order of the schema."""
        return [key for key in FIELDS if self.is_changed(key)]

    def shown_keys(self) -> list[str]:
        """The keys whose value would be used under the present settings."""
        return [key for key, spec in FIELDS.items() if spec.shown_when(self._recipe)]

    def problems(self) -> list[Problem]:
        """Everything that is wrong with the recipe by itself."""
        return check(self._recipe)

    def mark_saved(self) -> None:
        self._saved = self._recipe

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call back after each change, with the keys whose value in force changed. Returns what ends it."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def _show(self, recipe: Recipe) -> None:
        before, self._recipe = self._recipe, recipe
        changed = frozenset(key for key in FIELDS if _in_force(before, key) != _in_force(recipe, key))
        for subscriber in tuple(self._subscribers):
            subscriber(changed)


def _in_force(recipe: Recipe, key: str) -> object:
    return getattr(recipe, key) if FIELDS[key].kind in ("model", "datasets") else value_or_default(recipe, key)
