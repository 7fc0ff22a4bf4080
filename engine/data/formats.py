"""Which of the known formats a dataset has, by evidence, and which column plays which role in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.data.rows import Row
from engine.data.values import text_of, turns_of
from engine.protocol.data_messages import FormatMatch
from engine.protocol.errors import SurroundingsError

SAMPLE_ROWS = 200

CONVERSATION_COLUMNS = ("messages", "conversations", "conversation", "dialogue", "dialog", "chat", "turns")
ROLE_KEYS = ("role", "from", "speaker", "author", "sender")
CONTENT_KEYS = ("content", "value", "text", "message", "utterance")
INSTRUCTION_COLUMNS = ("instruction",)
OUTPUT_COLUMNS = ("output", "response", "answer")
PROMPT_COLUMNS = ("prompt", "question", "query", "input")
COMPLETION_COLUMNS = ("completion", "response", "answer", "output", "target")
TEXT_COLUMNS = ("text", "content", "document", "body")

Columns = dict[str, str]
Finder = Callable[[Row, Mapping[str, str]], Columns | None]
"""A mapping (our role → their column) where the row has the format, None where it has not."""


def _first(row: Row, given: Mapping[str, str], role: str, names: Sequence[str]) -> str | None:
    if role in given:
        return given[role] if given[role] in row.values else None
    lower = {key.lower(): key for key in row.values}
    return next((lower[name] for name in names if name in lower), None)


def _conversation(row: Row, given: Mapping[str, str]) -> Columns | None:
    """The column that holds a list of turns, and the keys of a turn."""
    column = _first(row, given, "messages", CONVERSATION_COLUMNS)
    candidates = [column] if column else [] if "messages" in given else list(row.values)
    for name in candidates:
        turns = turns_of(row.values[name])
        if not turns:
            continue
        keys = turns[0].keys()
        role = given.get("role") or next((key for key in ROLE_KEYS if key in keys), None)
        content = given.get("content") or next((key for key in CONTENT_KEYS if key in keys and key != role), None)
        if role in keys and (content in keys or "tool_calls" in keys):
            found = {"messages": name, "role": str(role), "content": str(content or "content")}
            return found | _optional(row, given, {"system": ("system", "system_prompt"), "tools": ("tools",)})
    return None


def _optional(row: Row, given: Mapping[str, str], roles: Mapping[str, Sequence[str]]) -> Columns:
    found = {role: _first(row, given, role, names) for role, names in roles.items()}
    return {role: column for role, column in found.items() if column is not None}


def _find_messages(row: Row, given: Mapping[str, str]) -> Columns | None:
    found = _conversation(row, given)
    return found if found and (found["role"], found["content"]) != ("from", "value") else None


def _find_sharegpt(row: Row, given: Mapping[str, str]) -> Columns | None:
    found = _conversation(row, given)
    return found if found and (found["role"], found["content"]) == ("from", "value") else None


def _find_alpaca(row: Row, given: Mapping[str, str]) -> Columns | None:
    instruction = _first(row, given, "instruction", INSTRUCTION_COLUMNS)
    output = _first(row, given, "output", OUTPUT_COLUMNS)
    if instruction is None or output is None or text_of(row.values[instruction]) is None:
        return None
    optional: dict[str, Sequence[str]] = {"input": ("input",), "system": ("system",), "history": ("history",)}
    return {"instruction": instruction, "output": output} | _optional(row, given, optional)


def _find_prompt_completion(row: Row, given: Mapping[str, str]) -> Columns | None:
    prompt = _first(row, given, "prompt", PROMPT_COLUMNS)
    completion = _first(row, given, "completion", [name for name in COMPLETION_COLUMNS if name != prompt])
    if prompt is None or completion is None or completion == prompt:
        return None
    values = (row.values[prompt], row.values[completion])
    if all(text_of(value) is not None for value in values) or all(turns_of(value) for value in values):
        return {"prompt": prompt, "completion": completion}
    return None


def _find_text(row: Row, given: Mapping[str, str]) -> Columns | None:
    column = _first(row, given, "text", TEXT_COLUMNS)
    return {"text": column} if column is not None and text_of(row.values[column]) is not None else None


def _find_preference(row: Row, given: Mapping[str, str]) -> Columns | None:
    chosen = _first(row, given, "chosen", ("chosen",))
    rejected = _first(row, given, "rejected", ("rejected",))
    return {"chosen": chosen, "rejected": rejected} if chosen and rejected else None


@dataclass(frozen=True)
class Format:
    """One shape of rows. `find` gives the mapping for a row that has it."""

    name: str
    label: str
    find: Finder
    trainable: bool = True


FORMATS = {
    format_.name: format_
    for format_ in (
        # Where a row has several shapes, the earlier one wins: it says more about the row.
        Format("preference", "Preference pairs", _find_preference, trainable=False),
        Format("messages", "Chat messages", _find_messages),
        Format("sharegpt", "ShareGPT", _find_sharegpt),
        Format("alpaca", "Alpaca", _find_alpaca),
        Format("prompt_completion", "Prompt and completion", _find_prompt_completion),
        Format("text", "Plain text", _find_text),
    )
}


@dataclass(frozen=True)
class Detection:
    """The format in force ("" where none fits), the mapping, and what speaks for it."""

    format: str
    mapping: Columns
    matches: tuple[FormatMatch, ...]
    evidence: str


def detect(rows: Sequence[Row], given_format: str | None, given_columns: Mapping[str, str]) -> Detection:
    """From the first rows. A given format or column is taken, and the evidence says how many rows it fits."""
    found = {name: [format_.find(row, given_columns) for row in rows] for name, format_ in FORMATS.items()}
    counts = {name: sum(mapping is not None for mapping in mappings) for name, mappings in found.items()}
    matches = tuple(FormatMatch(name, item.label, counts[name], item.trainable) for name, item in FORMATS.items())
    best = max(counts, key=lambda name: counts[name]) if any(counts.values()) else ""
    name = given_format or best
    if name and name not in FORMATS:
        raise SurroundingsError(
            "format_unknown", f"There is no data format {name!r}.", f"Choose one of: {', '.join(FORMATS)}.", format=name
        )
    mapping = _most_common(found[name]) if name else {}
    return Detection(name, {**mapping, **given_columns}, matches, _evidence(name, rows, counts, mapping))


def _most_common(mappings: Sequence[Columns | None]) -> Columns:
    """The union of what the rows agree on most: an optional column may be missing in some rows."""
    votes = Counter((role, column) for mapping in mappings if mapping for role, column in mapping.items())
    chosen: Columns = {}
    for (role, column), _ in votes.most_common():
        chosen.setdefault(role, column)
    return chosen


def _evidence(name: str, rows: Sequence[Row], counts: Mapping[str, int], mapping: Columns) -> str:
    if not rows:
        return "There is no readable row."
    if not name:
        columns = ", ".join(sorted({key for row in rows for key in row.values})[:12])
        return f"No known format fits the columns: {columns}."
    columns = ", ".join(f"{role} ← {column}" for role, column in mapping.items())
    return f"{counts[name]} of {len(rows)} rows are {FORMATS[name].label}" + (f" ({columns})." if columns else ".")


def require_trainable(detection: Detection, where: str) -> Format:
    """The format in force. Raises SurroundingsError where none fits or it cannot be trained on yet."""
    if not detection.format:
        raise SurroundingsError(
            "format_not_found",
            f"The rows have none of the known formats. {detection.evidence}",
            "Choose a format and say which column is which.",
            where=where,
        )
    format_ = FORMATS[detection.format]
    if not format_.trainable:
        raise SurroundingsError(
            "format_preference",
            "The rows are preference pairs (chosen and rejected), which cannot be trained on yet.",
            "Use a dataset of conversations, prompts with completions, or text.",
            where=where,
        )
    return format_
