"""Everything that can be worth knowing about a row: its code, what becomes of the row, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IssueKind:
    """`effect` as in `protocol.data_messages.Issue`; `bit` is its place in a row's flags."""

    code: str
    effect: str
    message: str
    bit: int


_TABLE = (
    ("malformed", "left_out", "The row cannot be read."),
    ("wrong_shape", "left_out", "The row does not have the shape of the format."),
    ("empty", "left_out", "The row is empty."),
    ("no_assistant", "left_out", "The conversation has no assistant turn to learn from."),
    ("empty_assistant", "left_out", "An assistant turn is empty."),
    ("ends_in_user", "kept", "The conversation ends in a user turn, from which nothing is learned."),
    ("system_dropped", "kept", "The chat template drops the system turn."),
    ("system_refused", "left_out", "The chat template does not know a system turn and refuses the row."),
    ("template_refused", "left_out", "The chat template refuses the row."),
    ("mask_not_found", "left_out", "The chat template rewrites an assistant turn so that its place cannot be found."),
    ("control_tokens", "kept", "The text holds control tokens of the model, which are read as such."),
    ("end_not_learned", "kept", "The chat template marks the answer as learned without the token that ends it."),
    ("too_long", "cut", "The row is longer than the sequence length and is cut."),
    ("nothing_left", "left_out", "Nothing to learn is left of the row once it is cut at the sequence length."),
    ("duplicate", "kept", "The row stands more than once."),
    ("leakage", "kept", "The row stands in training and in evaluation."),
)

ISSUES = {code: IssueKind(code, effect, message, bit) for bit, (code, effect, message) in enumerate(_TABLE)}
"""New kinds go at the end: the bits stand in token caches."""


def flags_of(codes: tuple[str, ...] | list[str]) -> int:
    """The codes as bits."""
    flags = 0
    for code in codes:
        flags |= 1 << ISSUES[code].bit
    return flags
