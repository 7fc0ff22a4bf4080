"""Which characters of a rendered conversation the model learns to say.

Where the template marks them (`{% generation %}`) its word is taken. Elsewhere a turn's place is found by rendering the
conversation up to it and comparing; where a template rewrites earlier turns (Qwen3 drops their thinking) the turn is
found by a probe character. Either way the place is verified; a turn that cannot be verified refuses its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from engine.data.examples import Conversation, Message, RowUnusable
from engine.data.sandbox import unused_characters
from engine.data.templates import ChatTemplate, Rendered, Span, TemplateRefused
from engine.data.tokenizer import TextTokenizer


@dataclass(frozen=True)
class Learned:
    """A rendered conversation, the spans to learn, and what there is to say about it (codes of `issues`)."""

    text: str
    spans: tuple[Span, ...]
    issues: tuple[str, ...]


def learned_spans(
    conversation: Conversation, template: ChatTemplate, tokenizer: TextTokenizer, loss_on: str
) -> Learned:
    """Render and mark. `loss_on`: "assistant" (every such turn), "last_assistant", "all".

    Raises RowUnusable where the row cannot be trained on, SurroundingsError for a hostile or broken template.
    """
    turns = conversation.assistant_turns()
    if loss_on != "all":
        if not turns:
            raise RowUnusable("no_assistant", "No turn of the assistant to learn from.")
        if any(_is_empty(conversation.messages[turn]) for turn in turns):
            raise RowUnusable("empty_assistant", "A turn of the assistant is empty.")
    rendered = _render_whole(conversation, template)
    issues = _remarks(conversation, rendered.text, tokenizer)
    if loss_on == "all":
        start = 0
        if conversation.learn_from:
            start = _Turns(conversation, template, tokenizer, rendered).start(conversation.learn_from)
        return Learned(rendered.text, ((start, len(rendered.text)),), tuple(issues))
    wanted = turns[-1:] if loss_on == "last_assistant" else turns
    spans = _spans(conversation, template, tokenizer, rendered, wanted)
    if not _ends_are_learned(rendered.text, spans, tokenizer):
        issues.append("end_not_learned")
    return Learned(rendered.text, spans, tuple(issues))


def _is_empty(message: Message) -> bool:
    return not str(message["content"]).strip() and not message.get("tool_calls")


def _render_whole(conversation: Conversation, template: ChatTemplate) -> Rendered:
    try:
        return template.render(conversation.messages, tools=conversation.tools)
    except TemplateRefused as error:
        rest = [message for message in conversation.messages if message["role"] != "system"]
        if rest and len(rest) < len(conversation.messages):
            try:
                template.render(rest, tools=conversation.tools)
            except TemplateRefused:
                pass
            else:
                raise RowUnusable("system_refused", f"The chat template refuses the system turn: {error}") from None
        raise RowUnusable("template_refused", f"The chat template refuses the row: {error}") from None


def _remarks(conversation: Conversation, text: str, tokenizer: TextTokenizer) -> list[str]:
    messages = conversation.messages
    issues = ["ends_in_user"] if messages[-1]["role"] == "user" else []
    systems = [str(message["content"]).strip() for message in messages if message["role"] == "system"]
    if any(system not in text for system in systems):
        issues.append("system_dropped")
    if any(tokenizer.holds_control_token(str(message["content"])) for message in messages):
        issues.append("control_tokens")
    return issues


def _spans(
    conversation: Conversation,
    template: ChatTemplate,
    tokenizer: TextTokenizer,
    rendered: Rendered,
    wanted: list[int],
) -> tuple[Span, ...]:
    everything = [index for index, message in enumerate(conversation.messages) if message["role"] == "assistant"]
    if rendered.generations and len(rendered.generations) == len(everything):
        by_turn = dict(zip(everything, rendered.generations, strict=True))
        return tuple(by_turn[turn] for turn in wanted)
    if rendered.generations and wanted == everything:
        return rendered.generations
    finder = _Turns(conversation, template, tokenizer, rendered)
    spans = tuple(finder.span(turn) for turn in wanted)
    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            raise _not_found()
    return spans


def _ends_are_learned(text: str, spans: tuple[Span, ...], tokenizer: TextTokenizer) -> bool:
    """False where a span stops right before a control token: the answer would be learned without its end."""
    for start, end in spans:
        following = text[end:].lstrip()
        if following.startswith(tokenizer.special_texts or ("\0",)) and not tokenizer.ends_with_control_token(
            text[start:end].rstrip()
        ):
            return False
    return True


def _not_found() -> RowUnusable:
    return RowUnusable("mask_not_found", "The chat template rewrites a turn so that its place cannot be found.")


def _shared_length(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Turns:
    """Finds turns of one rendered conversation."""

    def __init__(
        self, conversation: Conversation, template: ChatTemplate, tokenizer: TextTokenizer, rendered: Rendered
    ) -> None:
        self._messages = conversation.messages
        self._tools = conversation.tools
        self._template = template
        self._tokenizer = tokenizer
        self._full = rendered.text
        # A character that stands nowhere yet shows, put into a turn, where in the text that turn's content lies.
        (self._probe,) = unused_characters(rendered.text, 1)

    def span(self, turn: int) -> Span:
        """Where the assistant's words of turn number `turn` stand, the token that ends the turn included."""
        start = self.start(turn)
        end = self._end_by_prefix(turn) or self._end_by_probe(turn, start)
        if not start < end <= len(self._full):
            raise _not_found()
        return start, end

    def start(self, turn: int) -> int:
        """Where what the template itself writes before the turn ends: the generation prompt's end where it has one."""
        prompted = self._render(self._messages[:turn], prompt=True)
        if prompted and self._full.startswith(prompted):
            return len(prompted)
        before = self._render(self._messages[:turn]) if turn else None
        if before is None or not self._full.startswith(before):
            # Nothing to compare with: the template refuses what stands before the turn on its own, or writes a text of
            # its own where no turn has been.
            return self._start_by_content(turn)
        if prompted is None or not prompted.startswith(before):
            return len(before)
        # A prompt may already open the model's thinking, which this turn need not have: what both share is the header.
        return _shared_length(prompted, self._full)

    def _render(self, messages: list[Message], *, prompt: bool = False) -> str | None:
        try:
            return self._template.render(messages, tools=self._tools, add_generation_prompt=prompt).text
        except TemplateRefused:
            return None

    def _start_by_content(self, turn: int) -> int:
        """By a probe before the content, for templates that refuse the turns before it on their own."""
        message = self._messages[turn]
        probed = self._probed(turn, {**message, "content": self._probe + str(message["content"])})
        place = probed.index(self._probe)
        if self._full[:place] != probed[:place]:
            raise _not_found()
        return place

    def _end_by_prefix(self, turn: int) -> int | None:
        """From the conversation that ends with this turn, where it is a true beginning of the whole."""
        until = self._full if turn == len(self._messages) - 1 else self._render(self._messages[: turn + 1])
        if until is None or not self._full.startswith(until):
            return None
        # The line end that many templates write behind the closing token is not for the model to say.
        trimmed = until.rstrip()
        return len(trimmed) if self._tokenizer.ends_with_control_token(trimmed) else len(until)

    def _end_by_probe(self, turn: int, start: int) -> int:
        """By a probe in the turn; from there it goes on as it would if it were the last, until the closing token."""
        message = _with_probe(self._messages[turn], self._probe)
        probed = self._probed(turn, message)
        last = self._render([*self._messages[:turn], message])
        if last is None or last.count(self._probe) != 1:
            raise _not_found()
        place = probed.index(self._probe)
        rest = probed[place + 1 :]
        end = len(self._full) - len(rest)
        # The template may strip the content, but not otherwise change it: only blanks may have gone.
        if not self._full.endswith(rest) or self._full[:end] != probed[:end] or probed[end:place].strip():
            raise _not_found()
        if not start <= end <= place:
            raise _not_found()
        closing = rest[: _shared_length(rest, last[last.index(self._probe) + 1 :])]
        trimmed = closing.rstrip()
        return end + len(trimmed if self._tokenizer.ends_with_control_token(trimmed) else closing)

    def _probed(self, turn: int, message: Message) -> str:
        """The whole conversation with one turn replaced; the probe must stand in it exactly once."""
        messages = [*self._messages[:turn], message, *self._messages[turn + 1 :]]
        text = self._render(messages)
        if text is None or text.count(self._probe) != 1:
            raise _not_found()
        return text


def _with_probe(message: Message, probe: str) -> Message:
    """The probe behind the content, or in the name of the last tool that is called, which stands behind that."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls or not isinstance(calls[-1], dict):
        return {**message, "content": str(message["content"]) + probe}
    last = calls[-1]
    function = last.get("function")
    if isinstance(function, dict):
        probed = {**last, "function": {**function, "name": f"{function.get('name')}{probe}"}}
    else:
        probed = {**last, "name": f"{last.get('name')}{probe}"}
    return {**message, "tool_calls": [*calls[:-1], probed]}
