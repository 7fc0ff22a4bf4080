"""Two or more runs side by side: where their settings differ, and how their results do.

The first run is the baseline. Where base model or data differ from it a run is not like for like, and says so: across
base models, speed and memory are not judged; across data or tokenizers, loss is not judged either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from engine.protocol.fields import FIELDS
from engine.protocol.plan import Plan
from studio.runs.rows import RunRow
from studio.runs.store import RunStore

Unlike = Literal["model", "data", "tokenizer"]
Direction = Literal["lower", "higher", "none"]


class SettingRow(msgspec.Struct, frozen=True):
    """One recipe key; `values` as text, one a run in their order."""

    key: str
    label: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


class Result(msgspec.Struct, frozen=True):
    """One run's figure. `delta` is to the baseline; `better` None: equal, unknown, or not to be judged."""

    value: float | None
    delta: float | None = None
    better: bool | None = None


class MetricRow(msgspec.Struct, frozen=True):
    """One figure over all runs. `direction` says which is better by itself; `unit` is "" for plain numbers."""

    key: str
    label: str
    unit: str
    direction: Direction
    results: tuple[Result, ...]


class Comparison(msgspec.Struct, frozen=True):
    """`unlike[i]`: in what run i is not like the baseline (empty for the baseline itself)."""

    runs: tuple[RunRow, ...]
    settings: tuple[SettingRow, ...]
    metrics: tuple[MetricRow, ...]
    unlike: tuple[tuple[Unlike, ...], ...]


class _Measure(msgspec.Struct, frozen=True):
    key: str
    label: str
    unit: str
    direction: Direction
    spoiled_by: tuple[Unlike, ...]
    read: Callable[[RunRow, RunStore], float | None]


def _highest(key: str) -> Callable[[RunRow, RunStore], float | None]:
    def read(row: RunRow, store: RunStore) -> float | None:
        found = store.summary(row.id, key)
        return found.highest if found else None

    return read


def _mean(key: str) -> Callable[[RunRow, RunStore], float | None]:
    def read(row: RunRow, store: RunStore) -> float | None:
        found = store.summary(row.id, key)
        return found.mean if found else None

    return read


_LOSS: tuple[Unlike, ...] = ("model", "data", "tokenizer")
_SPEED: tuple[Unlike, ...] = ("model",)
_MEASURES = (
    _Measure("best_evaluation_loss", "Best evaluation loss", "", "lower", _LOSS, lambda r, s: r.best_evaluation_loss),
    _Measure("evaluation_loss", "Evaluation loss", "", "lower", _LOSS, lambda r, s: r.evaluation_loss),
    _Measure("loss", "Training loss", "", "lower", _LOSS, lambda r, s: r.loss),
    _Measure("tokens_per_second", "Speed", "tokens/s", "higher", _SPEED, _mean("tokens_per_second")),
    _Measure("seconds", "Duration", "s", "lower", (*_SPEED, "data"), lambda r, s: r.seconds or None),
    _Measure("resident_bytes", "Peak memory", "bytes", "lower", _SPEED, _highest("resident_bytes")),
    _Measure("trained_tokens", "Trained tokens", "tokens", "none", (), lambda r, s: float(r.trained_tokens)),
    _Measure("step", "Steps", "steps", "none", (), lambda r, s: float(r.step)),
)


def compare(rows: Sequence[RunRow], store: RunStore, *, differences_only: bool = True) -> Comparison:
    """Compare runs with the first of them. Raises ValueError for less than two."""
    if len(rows) < 2:
        raise ValueError("a comparison needs two runs")
    unlike = tuple(_unlike(rows[0], row) for row in rows)
    settings = tuple(row for row in _settings(rows) if row.differs or not differences_only)
    return Comparison(tuple(rows), settings, tuple(_metric(m, rows, unlike, store) for m in _MEASURES), unlike)


def _settings(rows: Sequence[RunRow]) -> list[SettingRow]:
    recipes = [msgspec.json.decode(row.recipe, type=dict[str, object]) for row in rows]
    return [
        SettingRow(key, spec.label, tuple(_text(recipe.get(key)) for recipe in recipes))
        for key, spec in FIELDS.items()
        if key != "name"
    ]


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:.6g}"
        case {"source": "folder", "path": str(path)}:
            return path
        case {"source": "hub", "repository": str(repository), **rest}:
            return f"{repository}@{revision}" if (revision := rest.get("revision")) else repository
        case {"path": str(path)}:
            return path
        case list():
            return ", ".join(_text(item) for item in value)
        case _:
            return str(value)


def _unlike(baseline: RunRow, row: RunRow) -> tuple[Unlike, ...]:
    ours, theirs = _hashes(baseline), _hashes(row)
    return tuple(name for name in ("model", "data", "tokenizer") if ours[name] != theirs[name])


def _hashes(row: RunRow) -> dict[Unlike, str]:
    """What the plan fixed; where there is none, what the recipe names."""
    try:
        numerics = msgspec.json.decode(row.plan, type=Plan).numerics
    except msgspec.MsgspecError:
        return {"model": row.model, "data": row.dataset, "tokenizer": row.model}
    return {"model": numerics.model_hash, "data": numerics.dataset_hash, "tokenizer": numerics.tokenizer_hash}


def _metric(
    measure: _Measure, rows: Sequence[RunRow], unlike: Sequence[tuple[Unlike, ...]], store: RunStore
) -> MetricRow:
    values = [measure.read(row, store) for row in rows]
    base = values[0]
    results = []
    for value, reasons in zip(values, unlike, strict=True):
        if value is None or base is None:
            results.append(Result(value))
            continue
        judged = measure.direction != "none" and value != base and not set(reasons) & set(measure.spoiled_by)
        better = (value < base) == (measure.direction == "lower") if judged else None
        results.append(Result(value, value - base, better))
    return MetricRow(measure.key, measure.label, measure.unit, measure.direction, tuple(results))
