"""How formats, progress and results of exports are worded."""

from __future__ import annotations

from studio.exports.running import ExportProgress, SelfTest, failure, self_test
from studio.exports.service import ExportFormat
from studio.runs.rows import ExportRow
from ui.format import disk, number, percent
from ui.tr import tr
from ui.widgets.badge import State
from ui.wording import words_for


def format_name(kind: str) -> str:
    """The name of a format."""
    names = {"peft": tr("LoRA adapter (PEFT)"), "merged": tr("Merged model")}
    return names.get(kind, kind)


def format_files(kind: ExportFormat) -> str:
    """What lies in the folder."""
    return {
        "peft": tr("safetensors · FP32 · PEFT folder"),
        "merged": tr("safetensors · the base model's type · Hugging Face folder"),
    }[kind]


def format_use(kind: ExportFormat) -> str:
    """Who can load it."""
    return {
        "peft": tr("Loads on top of the base model with PEFT, vLLM or TGI. Needs the base model beside it."),
        "merged": tr("What was learned is folded into the weights. For Transformers, vLLM and SGLang, by itself."),
    }[kind]


def phase_words(progress: ExportProgress) -> str:
    """What is being done now: "Writing 61 %"."""
    names = {
        "": tr("Starting"),
        "reading_model": tr("Reading the model"),
        "answering": tr("Asking the live model"),
        "writing": tr("Writing"),
        "testing": tr("Self-test"),
    }
    name = names.get(progress.phase, progress.phase)
    if progress.total and progress.phase == "writing":
        return tr("{phase} {share}", phase=name, share=percent(progress.done / progress.total))
    return name


def progress_detail(progress: ExportProgress) -> str:
    """Beside the bar: "40.0 GB of 65.5 GB", "2 of 3 prompts"; "" where nothing is counted."""
    if not progress.total:
        return ""
    if progress.unit == "bytes":
        return tr("{done} of {total}", done=disk(progress.done), total=disk(progress.total))
    return tr("{done} of {total}", done=number(progress.done), total=number(progress.total))


def overall(progress: ExportProgress) -> float:
    """0 to 1 over all phases, for the bar: the writing is most of it."""
    begins = {"": 0.0, "reading_model": 0.02, "answering": 0.1, "writing": 0.2, "testing": 0.85}
    widths = {"reading_model": 0.08, "answering": 0.1, "writing": 0.65}
    share = progress.done / progress.total if progress.total else 0.0
    return begins.get(progress.phase, 0.0) + widths.get(progress.phase, 0.0) * share


def result_badge(row: ExportRow) -> tuple[str, State, str]:
    """Word, state and explanation of an export in the history."""
    match row.state:
        case "passed":
            return tr("Self-test passed"), "good", tr("Reloaded in a fresh process; it answers as the live model does.")
        case "failed":
            problem, test = failure(row), self_test(row)
            if problem is not None:
                return tr("Not written"), "bad", str(words_for(problem))
            return tr("Self-test failed"), "bad", "\n".join(test.reasons if test else ())
        case "interrupted":
            return tr("Interrupted"), "warn", tr("Its process ended before it was done. Export again.")
        case "written":
            return tr("Being tested"), "accent", ""
        case _:
            return tr("Being written"), "accent", ""


def verdict_line(test: SelfTest) -> str:
    """The result in one sentence."""
    if test.largest_logit_difference is None:
        return tr("It could not be reloaded.")
    return tr(
        "Reloaded: greedy text matches {equal} of {prompts}, largest logit difference {difference}",
        equal=number(test.equal_texts), prompts=number(test.prompts),
        difference=logit(test.largest_logit_difference),
    )  # fmt: skip


def logit(value: float) -> str:
    """A difference of logits, three significant digits: "0.004", "1.91e-6"."""
    if value and abs(value) < 1e-3:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return number(value, 3)
