"""A row as something to learn from: a conversation, or a passage of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.data.rows import Row
from engine.data.text_files import is_text
from engine.data.values import text_of, turns_of

Message = dict[str, object]
Columns = Mapping[str, str]

ROLE_NAMES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "customer": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "function_response": "tool",
    "ipython": "tool",
}
KEPT_KEYS = ("reasoning_content", "tool_calls", "tool_call_id", "name")


class RowUnusable(Exception):
    """The row does not fit; `code` counts it, the text says what is wrong with it."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@dataclass(frozen=True)
class Conversation:
    """Turns for a chat template. Only turns from number `learn_from` on are learned (0: all that the recipe says)."""

    messages: list[Message]
    learn_from: int = 0
    tools: list[object] | None = None

    def assistant_turns(self) -> list[int]:
        """Numbers of the assistant turns that may be learned."""
        return [
            index
            for index, message in enumerate(self.messages)
            if message["role"] == "assistant" and index >= self.learn_from
        ]


@dataclass(frozen=True)
class Passage:
    """Plain text; learned from character `learn_from` on. `closed`: the end is an end, and is taught as one."""

    text: str
    learn_from: int = 0
    closed: bool = True
    splittable: bool = False


Example = Conversation | Passage
Converter = Callable[[Row, Columns], Example]


def _text(row: Row, columns: Columns, role: str, *, required: bool = True) -> str:
    column = columns.get(role)
    value = row.values.get(column) if column else None
    text = text_of(value)
    if text is None:
        if value is not None or required:
            found = f"has no column {column!r}" if value is None else f"holds no text in {column!r}"
            raise RowUnusable("wrong_shape", f"The row {found}.")
        return ""
    if not is_text(text):
        raise RowUnusable("wrong_shape", f"{column!r} holds half of a character pair, which is not text.")
    return text


def _role(value: object, columns: Columns) -> str:
    name = text_of(value) or ""
    for role in ("user", "assistant", "tool"):
        if columns.get(role) == name and name:
            return role
    role_name = ROLE_NAMES.get(name.strip().lower())
    if role_name is None:
        raise RowUnusable(
            "wrong_shape", f"A turn has the role {name!r}, which is none of system, user, assistant, tool."
        )
    return role_name


def _content(value: object) -> str:
    """A turn's text; a list of parts, as some services write it, is joined as long as every part is text."""
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        if not all(isinstance(part, str) for part in parts):
            raise RowUnusable("wrong_shape", "A turn holds something other than text (an image or a sound).")
        value = "".join(str(part) for part in parts)
    text = text_of(value)
    if text is None:
        raise RowUnusable("wrong_shape", "A turn holds no text.")
    if not is_text(text):
        raise RowUnusable("wrong_shape", "A turn holds half of a character pair, which is not text.")
    return text


def _messages(turns: list[dict[str, object]], columns: Columns) -> list[Message]:
    role_key, content_key = columns.get("role", "role"), columns.get("content", "content")
    messages: list[Message] = []
    for turn in turns:
        if role_key not in turn:
            raise RowUnusable("wrong_shape", f"A turn has no {role_key!r}.")
        message: Message = {"role": _role(turn[role_key], columns)}
        content = turn.get(content_key)
        message["content"] = "" if content is None and turn.get("tool_calls") else _content(content)
        message.update({key: turn[key] for key in KEPT_KEYS if turn.get(key) is not None})
        messages.append(message)
    return messages


def _conversation(row: Row, columns: Columns) -> Conversation:
    column = columns.get("messages", "messages")
    turns = turns_of(row.values.get(column))
    if turns is None:
        raise RowUnusable("wrong_shape", f"{column!r} holds no list of turns.")
    if not turns:
        raise RowUnusable("empty", "The conversation has no turns.")
    messages = _messages(turns, columns)
    system = _text(row, columns, "system", required=False) if columns.get("system") in row.values else ""
    if system and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})
    tools = row.values.get(columns.get("tools", "tools"))
    return Conversation(messages, tools=tools if isinstance(tools, list) and tools else None)


def _alpaca(row: Row, columns: Columns) -> Conversation:
    """Instruction and input are one user turn, apart by a blank line; `history` holds earlier pairs."""
    messages: list[Message] = []
    system = _text(row, columns, "system", required=False)
    if system:
        messages.append({"role": "system", "content": system})
    history = row.values.get(columns.get("history", "history")) or []
    if not isinstance(history, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in history):
        raise RowUnusable("wrong_shape", "The history is not a list of pairs.")
    for question, answer in history:
        messages.append({"role": "user", "content": _content(question)})
        messages.append({"role": "assistant", "content": _content(answer)})
    instruction, extra = _text(row, columns, "instruction"), _text(row, columns, "input", required=False)
    question_text = f"{instruction}\n\n{extra}" if extra.strip() else instruction
    messages.append({"role": "user", "content": question_text})
    messages.append({"role": "assistant", "content": _text(row, columns, "output")})
    return Conversation(messages)


def _prompt_completion(row: Row, columns: Columns) -> Example:
    """Two texts are joined as they are, without a chat template; two lists of turns are one conversation."""
    prompt, completion = (row.values.get(columns.get(role, role)) for role in ("prompt", "completion"))
    before, after = turns_of(prompt), turns_of(completion)
    if before and after:
        messages = _messages(before, columns)
        return Conversation(messages + _messages(after, columns), learn_from=len(messages))
    text, answer = _text(row, columns, "prompt"), _text(row, columns, "completion")
    if not answer.strip():
        raise RowUnusable("empty_assistant", "The completion is empty.")
    return Passage(text + answer, learn_from=len(text))


def _passage(row: Row, columns: Columns) -> Passage:
    text = _text(row, columns, "text")
    if not text.strip():
        raise RowUnusable("empty", "The text is empty.")
    return Passage(text, closed=not row.continues, splittable=True)


CONVERTERS: dict[str, Converter] = {
    "messages": _conversation,
    "sharegpt": _conversation,
    "alpaca": _alpaca,
    "prompt_completion": _prompt_completion,
    "text": _passage,
}
