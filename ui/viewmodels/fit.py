"""Whether a model fits this machine, by method, at the one setting that all models are compared at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.planning import Budget, MachineSpec, Verdict
from studio.recipes import FIELDS, ModelRef, Recipe
from ui.format import memory, percent
from ui.tr import tr
from ui.widgets.badge import State
from ui.wording import words_for

if TYPE_CHECKING:
    from studio.hub.records import Verdict as TrainingVerdict
    from studio.planning.service import PlanningService

SEQUENCE_LENGTH = 2048
METHODS = ("full", "lora")  # the order in which a badge looks for the first that fits
_STATES: dict[Verdict, State] = {"fits": "good", "tight": "warn", "does_not_fit": "bad"}
_WORST: dict[Verdict, int] = {"fits": 0, "tight": 1, "does_not_fit": 2}
_SHORT = {
    "model_remote_code": "own code",
    "model_architecture_unsupported": "architecture",
    "model_quantized": "quantised",
    "model_only_gguf": "GGUF only",
    "model_only_pickles": "pickles only",
    "model_only_tokenizer_model": "tokenizer",
    "model_is_adapter": "adapter",
    "model_file_missing": "file missing",
}


@dataclass(frozen=True)
class Fit:
    """One method's verdict, and the memory that decides it. Bytes."""

    method: str
    verdict: Verdict
    memory: str
    planned_bytes: int
    usable_bytes: int

    @property
    def state(self) -> State:
        """The colour and shape of the verdict."""
        return _STATES[self.verdict]


@dataclass(frozen=True)
class Mark:
    """A badge in words: what it says, its state, and why."""

    text: str
    state: State
    why: str


def fits_of(planning: PlanningService, reference: ModelRef, machine: MachineSpec) -> tuple[Fit, ...]:
    """A Fit for each method that could be planned; blocks. A model that cannot be trained has none."""
    found = []
    for method in METHODS:
        recipe = Recipe(model=reference, method=method, sequence_length=SEQUENCE_LENGTH, micro_batch_size=1)
        plan = planning.full(recipe, machine=machine).plan  # without datasets nothing is measured
        if plan is not None and plan.budgets:
            found.append(_of(method, max(plan.budgets, key=_severity)))
    return tuple(found)


def fit_mark(fit: Fit) -> Mark:
    """The badge of one method: "Fits", with how much stays free or is missing."""
    words = {"fits": tr("Fits"), "tight": tr("Tight"), "does_not_fit": tr("Doesn't fit")}[fit.verdict]
    spare = fit.usable_bytes - fit.planned_bytes
    where = tr("GPU memory") if fit.memory == "device" else tr("RAM")
    if spare >= 0:
        why = tr(
            "{where}: {planned} of {usable} usable, {share} free, predicted.", where=where,
            planned=memory(fit.planned_bytes), usable=memory(fit.usable_bytes),
            share=percent(spare / max(1, fit.usable_bytes)),
        )  # fmt: skip
    else:
        why = tr(
            "{where}: {planned} needed, {usable} usable, {over} over. Choose a smaller model.", where=where,
            planned=memory(fit.planned_bytes), usable=memory(fit.usable_bytes), over=memory(-spare),
        )  # fmt: skip
    return Mark(words, fit.state, why)


def method_label(method: str) -> str:
    """What the schema calls a method."""
    return tr(FIELDS["method"].choice_label(method))


def fits_mark(fits: Sequence[Fit]) -> Mark | None:
    """The badge of a model: the first method that fits at all, else that none does. None where nothing is known."""
    if not fits:
        return None
    chosen = next((fit for fit in fits if fit.verdict != "does_not_fit"), fits[-1])
    mark = fit_mark(chosen)
    text = tr("{verdict} · {method}", verdict=mark.text, method=method_label(chosen.method))
    return Mark(text, mark.state, mark.why)


def training_mark(verdict: TrainingVerdict) -> Mark:
    """Whether a model can be trained, with the reason in a word and in full."""
    if verdict.state == "trainable":
        return Mark(tr("Supported"), "neutral", tr("It can be trained. Select it to see whether it fits."))
    if verdict.state == "unknown":
        return Mark(tr("Not known yet"), "neutral", tr("The Hub does not show its configuration."))
    why = " ".join(str(words_for(problem)) for problem in verdict.problems)
    short = _SHORT.get(verdict.problems[0].code) if verdict.problems else None
    text = tr("Not trainable · {reason}", reason=tr(short)) if short else tr("Not trainable")
    return Mark(text, "bad", why)


def model_mark(verdict: TrainingVerdict, fits: Sequence[Fit] = ()) -> Mark:
    """The one badge of a row: why it cannot be trained, else how it fits, else that it is supported."""
    return (fits_mark(fits) if verdict.state != "refused" else None) or training_mark(verdict)


def _severity(budget: Budget) -> tuple[int, float]:
    return _WORST[budget.verdict], budget.planned_bytes / max(1, budget.usable_bytes)


def _of(method: str, budget: Budget) -> Fit:
    return Fit(method, budget.verdict, budget.memory, budget.planned_bytes, budget.usable_bytes)
