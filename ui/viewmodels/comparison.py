"""What Compare shows, read in one go off the GUI thread, and how its figures are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.runs.compare import Comparison, MetricRow, Result, compare
from studio.runs.rows import RunRow, SampleRow
from studio.runs.store import RunStore
from ui.format import DASH, GIB, MINUS, duration, loss, memory, number, signed
from ui.tr import tr
from ui.widgets.chart_series import Points

METRICS = ("evaluation_loss", "loss", "learning_rate", "grad_norm", "tokens_per_second")
MOST_POINTS = 4000


@dataclass(frozen=True)
class Compared:
    """`slots[i]` of run i; the first is the baseline. `curves[key][i]`; `samples[i]` the answers of run i."""

    runs: tuple[RunRow, ...]
    slots: tuple[int, ...]
    comparison: Comparison
    curves: Mapping[str, tuple[Points, ...]]
    samples: tuple[tuple[SampleRow, ...], ...]

    @property
    def prompts(self) -> list[str]:
        """Every prompt that one of the runs answered, in the order of asking."""
        return list(dict.fromkeys(sample.prompt for samples in self.samples for sample in samples))

    def answer(self, run: int, prompt: str) -> SampleRow | None:
        """The newest answer of a run to a prompt."""
        return next((sample for sample in reversed(self.samples[run]) if sample.prompt == prompt), None)


def read_comparison(store: RunStore, ticked: Mapping[str, int]) -> Compared:
    """The ticked runs in the order of their slots. Raises ValueError for less than two."""
    order = sorted(ticked, key=lambda run: ticked[run])
    rows = tuple(store.run(run) for run in order)
    curves = {key: tuple(_points(store, row.id, key) for row in rows) for key in METRICS}
    return Compared(
        runs=rows,
        slots=tuple(ticked[run] for run in order),
        comparison=compare(rows, store, differences_only=False),
        curves=curves,
        samples=tuple(tuple(store.samples(row.id)) for row in rows),
    )


def metric_words(key: str) -> str:
    """A curve's name."""
    return {
        "evaluation_loss": tr("Evaluation loss"),
        "loss": tr("Training loss"),
        "learning_rate": tr("Learning rate"),
        "grad_norm": tr("Gradient norm"),
        "tokens_per_second": tr("Tokens per second"),
    }[key]


def value_words(metric: MetricRow, value: float | None) -> str:
    """One figure with its unit."""
    if value is None:
        return DASH
    match metric.unit:
        case "bytes":
            return memory(value)
        case "s":
            return duration(value)
        case "":
            return loss(value)
        case _:
            return number(value, 0 if abs(value) >= 100 else 1 if value % 1 else 0)


def delta_words(metric: MetricRow, result: Result, unlike: bool) -> tuple[str, str]:
    """A difference to A with arrow, and the tone: better, worse, or not to be judged."""
    if result.delta is None or result.value is None:
        return DASH, "tx3"
    match metric.unit:
        case "bytes":
            text = f"{signed(result.delta / GIB, 2)} GiB"
        case "s":
            sign = "±" if not result.delta else "+" if result.delta > 0 else MINUS
            text = f"{sign}{duration(abs(result.delta))}"
        case "":
            text = signed(result.delta, 3)
        case _:
            text = signed(result.delta, 0 if abs(result.delta) >= 100 else 1 if result.delta % 1 else 0)
    if text.startswith("±"):
        return text, "tx2"  # too small to be told apart is neither better nor worse
    if result.better is None:
        judged = metric.direction != "none" and result.delta != 0
        return (f"{text} ≠" if unlike and judged else text), "tx2"
    return (f"▲ {text}", "good") if result.better else (f"▽ {text}", "bad")


def unlike_words(reasons: Sequence[str]) -> str:
    """In what a run is not like the baseline."""
    words = {"model": tr("other base model"), "data": tr("other dataset"), "tokenizer": tr("other tokenizer")}
    return ", ".join(words[reason] for reason in reasons)


def _points(store: RunStore, run: str, key: str) -> Points:
    series = store.series(run, key, most_points=MOST_POINTS)
    return Points.of(series.steps, series.values, series.seconds, series.tokens)
