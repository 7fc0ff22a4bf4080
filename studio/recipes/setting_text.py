"""A setting as text, both ways: what a person types into a field or after `--set key=`, and what is shown there."""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from engine.protocol.errors import SurroundingsError
from engine.protocol.fields import FIELDS
from engine.protocol.recipe import DatasetRef, ModelRef
from engine.protocol.schema import FieldSpec

Value = str | int | float | bool | None | tuple[str, ...] | ModelRef | tuple[DatasetRef, ...]
"""The value of a recipe key; None is the default."""

_SWITCH = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


def field(key: str) -> FieldSpec:
    """The field's specification. Raises SurroundingsError("unknown_key") with the nearest known key."""
    if key in FIELDS:
        return FIELDS[key]
    nearest = difflib.get_close_matches(key, list(FIELDS), n=1, cutoff=0.5)
    remedy = f"Did you mean {nearest[0]}?" if nearest else "`anneal train --help` lists them."
    raise SurroundingsError("unknown_key", f"There is no setting {key!r}.", remedy, where=key)


def parse_setting(key: str, text: str) -> Value:
    """The value that a text stands for; an empty text is the default.

    Numbers may have thousands commas. Lists are separated by commas, or are JSON where an item holds one. A model is
    `organisation/name`, `organisation/name@revision`, or a path that begins with `.`, `/`, `~` or a drive. Paths are
    taken from the present folder.
    Raises SurroundingsError("unknown_key" | "setting.unreadable"); whether the value is in range is `check`'s business.
    """
    spec, text = field(key), text.strip()
    if not text:
        return () if spec.kind == "datasets" else None
    match spec.kind:
        case "integer" | "number":
            return _number(spec, text)
        case "switch":
            if text.lower() not in _SWITCH:
                raise _unreadable(spec, text, "Give true or false.")
            return _SWITCH[text.lower()]
        case "choices" | "texts":
            return _texts(spec, text)
        case "model":
            return _model(text)
        case "datasets":
            return tuple(DatasetRef(_absolute(path)) for path in _texts(spec, text))
        case _:
            return text


def setting_text(value: Value) -> str:
    """The shortest text that `parse_setting` reads back as the same value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        short = f"{value:.12g}"
        return short if float(short) == value else repr(value)
    if isinstance(value, ModelRef):
        revision = f"@{value.revision}" if value.revision else ""
        return value.path if value.source == "folder" else value.repository + revision
    if isinstance(value, tuple):
        items = [item.path if isinstance(item, DatasetRef) else item for item in value]
        plain = all("," not in item and item == item.strip() and not item.startswith("[") for item in items)
        return ", ".join(items) if plain else msgspec.json.encode(items).decode()
    return str(value)


def _number(spec: FieldSpec, text: str) -> int | float:
    plain = text.replace(",", "").replace("_", "")
    try:
        return int(plain) if spec.kind == "integer" else float(plain)
    except ValueError:
        kind = "a whole number" if spec.kind == "integer" else "a number"
        raise _unreadable(spec, text, f"Give {kind}, {spec.range_text()}.".replace(", .", ".")) from None


def _texts(spec: FieldSpec, text: str) -> tuple[str, ...]:
    if text.startswith("["):
        try:
            return msgspec.json.decode(text, type=tuple[str, ...])
        except msgspec.MsgspecError:
            raise _unreadable(spec, text, 'Give a JSON list such as ["one", "two"].') from None
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _model(text: str) -> ModelRef:
    if text.startswith((".", "/", "~", "\\")) or text[1:2] == ":" or Path(text).expanduser().is_dir():
        return ModelRef("folder", path=_absolute(text))
    repository, _, revision = text.partition("@")
    return ModelRef("hub", repository=repository, revision=revision)


def _absolute(path: str) -> str:
    """From here: the engine and the data worker stand in other folders."""
    return str(Path(path).expanduser().absolute())


def _unreadable(spec: FieldSpec, text: str, remedy: str) -> SurroundingsError:
    return SurroundingsError(
        "setting.unreadable", f"{spec.label} cannot be {text!r}.", remedy, where=spec.key, label=spec.label, text=text
    )
