"""A plan's figures in words: what the wide panel, the narrow one and the wizard's footer all say alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from studio.planning import Budget, Plan
from studio.recipes import FIELDS, Recipe, Setting, value_or_default
from ui.format import closed_form, compact, duration, memory, number, percent, tokens_per_second
from ui.forms.form import setting_words
from ui.tr import plural, tr
from ui.widgets.badge import State
from ui.widgets.card import KeyFigure
from ui.widgets.hatches import Category
from ui.widgets.memory_bar import Segment

if TYPE_CHECKING:
    from ui.views.new_run.plan_session import PlanSession

STATES: dict[str, State] = {"fits": "good", "tight": "warn", "does_not_fit": "bad"}
_MEMORIES = {"device": "GPU", "host": "RAM", "pinned": "pinned memory"}


def verdict_words(verdict: str) -> str:
    """One of the three verdicts, as cards and badges say it."""
    return {"fits": tr("Fits"), "tight": tr("Fits, but tight"), "does_not_fit": tr("Doesn't fit")}[verdict]


def budget_words(budget: Budget) -> str:
    """How much of one memory is left, or missing: "RAM 82 % free", "RAM 1.2 GiB over"."""
    name = tr(_MEMORIES[budget.memory])
    left = budget.usable_bytes - budget.planned_bytes
    if left < 0:
        return tr("{memory} {size} over", memory=name, size=memory(-left))
    return tr("{memory} {share} free", memory=name, share=percent(left / max(1, budget.usable_bytes)))


def segments(plan: Plan, budget: Budget) -> list[Segment]:
    """The bar of one memory: the plan's categories, then what other programs hold."""
    on_device = budget.memory == "device"
    rows = [
        Segment(cast("Category", row.category), row.device_bytes if on_device else row.host_bytes)
        for row in plan.memory
    ]
    return [*rows, Segment("other", budget.other_bytes)]


def figures(session: PlanSession) -> list[tuple[str, str, str]]:
    """(label, value, note) of the key figures; "" where a figure is not known yet."""
    planned = session.planned
    plan = planned.plan if planned else None
    labels = (tr("Speed"), tr("Step time"), tr("Total time"), tr("Trained"))
    if plan is None:
        return [(label, "", "") for label in labels]
    times = plan.timeline
    marked = closed_form if session.approximate else str
    speed_note = tr("predicted") if times.measured else tr("predicted, rates assumed")
    batches = plural(plan.numerics.gradient_accumulation_steps, "{count} micro-batch", "{count} micro-batches")
    total, total_note = "", tr("known once the data is counted")
    if times.total_steps:
        total = marked(duration(times.total_seconds))
        total_note = tr(
            "{steps}, {evaluations}",
            steps=plural(times.total_steps, "{count} step", "{count} steps"),
            evaluations=plural(times.evaluations, "{count} evaluation", "{count} evaluations"),
        )
    return [
        (labels[0], marked(tokens_per_second(times.tokens_per_second)), speed_note),
        (labels[1], marked(duration(times.step_seconds)), batches),
        (labels[2], total, total_note),
        (
            labels[3],
            compact(plan.trainable_parameters),
            tr("of {count} parameters", count=compact(plan.total_parameters)),
        ),
    ]


def explain_figures(shown: Sequence[KeyFigure]) -> None:
    """What each of the `figures` is, for hover and F1."""
    texts = (
        tr("Real tokens, without padding, that the plan expects to train each second."),
        tr("One optimizer step: its micro-batches, forward and backward, and the update."),
        tr("All steps, evaluations and checkpoints, without reading the model."),
        tr("Parameters that learn, of all that the model has."),
    )
    for figure, text in zip(shown, texts, strict=True):
        figure.explain(text)


def so_far(session: PlanSession) -> tuple[str, State, str]:
    """Badge text, its state, and the line after it, for the wizard's footer."""
    plan = session.planned.plan if session.planned else None
    if plan is None:
        words = session.nearest_fix()
        return (tr("No plan yet"), "neutral", words) if not session.pending else (tr("Planning"), "neutral", "")
    facts = [budget_words(budget) for budget in plan.budgets]
    facts.append(tr("{speed} predicted", speed=figures(session)[0][1]))
    if plan.timeline.total_steps:
        facts.append(tr("{time} in all", time=figures(session)[2][1]))
    return verdict_words(plan.verdict), STATES[plan.verdict], " · ".join(facts)


def method_summary(recipe: Recipe) -> str:
    """The line below the step's name: "LoRA · FP32 · CPU"."""
    chosen = [tr(FIELDS[key].choice_label(str(value_or_default(recipe, key)))) for key in ("method", "precision")]
    return " · ".join([*chosen, tr("CPU")])


def batch_words(recipe: Recipe) -> str:
    """The effective batch, worked out."""
    rows, times, length = (
        int(cast("int", value_or_default(recipe, key)))
        for key in ("micro_batch_size", "gradient_accumulation_steps", "sequence_length")
    )
    return tr(
        "<b>Effective batch {rows}</b> = {micro} × {times}: {tokens} tokens a step at most.",
        rows=plural(rows * times, "{count} row", "{count} rows"),
        micro=number(rows),
        times=number(times),
        tokens=number(rows * times * length),
    )


def shown_sizes(plan: Plan, budget: Budget) -> list[tuple[Category, str]]:
    """The legend: every category that takes something, other programs, and what is free."""
    parts = [(segment.category, memory(segment.size)) for segment in segments(plan, budget) if segment.size > 0]
    free = budget.usable_bytes - budget.planned_bytes
    return [*parts, ("free", memory(free))] if free > 0 else parts


def change_words(changes: Mapping[str, object]) -> str:
    """A change of settings as a person reads it: "Micro-batch size 1 rows, Gradient accumulation 8 ×"."""
    words = []
    for key, value in changes.items():
        spec = FIELDS[key]
        text = setting_words(spec, cast("Setting", value))
        if spec.unit and spec.unit in spec.label:  # "Maximum steps: 14", not "14 steps"
            text = text.removesuffix(f" {tr(spec.unit)}")
        words.append(tr("{label}: {value}", label=tr(spec.label), value=text))
    return ", ".join(words)


def nearest_fix(session: PlanSession) -> str:
    """Why the launch is refused and what would help first; "" where nothing forbids it."""
    words = session.nearest_fix()
    plan = session.planned.plan if session.planned else None
    if not words or plan is None or plan.verdict != "does_not_fit":
        return words
    sufficient = [one for one in plan.proposals if one.verdict != "does_not_fit"]
    enough = next((one for one in sufficient if one.recommended), sufficient[0] if sufficient else None)
    return f"{words} {tr('Nearest: {change}.', change=change_words(enough.changes))}" if enough else words
