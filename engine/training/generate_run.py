"""`engine generate`: answers as JSON lines, each prompt's text in pieces and then `done`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from engine.data.tokenizer import TextTokenizer
from engine.protocol.events import TextGenerated
from engine.protocol.folder import RunFolder
from engine.training.event_writer import EventWriter
from engine.training.outcome import ExitCode, printing_events
from engine.training.phases import phase
from engine.training.served_model import Answerer, Subject, open_answerer, subject_of_model, subject_of_run

UNFINISHED = "�"
"""What a tokenizer writes for a character of which only some bytes are there yet."""


def generate_run(
    run: Path | None, model: Path | None, checkpoint: str, prompts: list[str], max_tokens: int
) -> ExitCode:
    """Answer the prompts with a checkpoint of `run`, or with the model in the folder `model`."""

    def work(events: EventWriter) -> ExitCode:
        subject = _subject(run, model, checkpoint)
        with phase("reading_model", events, _nothing) as progress:
            answerer = open_answerer(subject, prompts, max_tokens, progress, _nothing)
        for index, prompt in enumerate(prompts):
            _answer(events, answerer, index, prompt, max_tokens)
        return ExitCode.DONE

    return printing_events(work)


def _subject(run: Path | None, model: Path | None, checkpoint: str) -> Subject:
    if run is not None:
        return subject_of_run(RunFolder(run), checkpoint)
    if model is None:
        raise ValueError("either a run or a model is needed")
    return subject_of_model(model)


def _nothing() -> None:
    """Nobody can stop this command but by ending it."""


def _answer(events: EventWriter, answerer: Answerer, index: int, prompt: str, max_tokens: int) -> None:
    began = time.monotonic()
    ids: list[int] = []

    def tokens() -> Iterator[int]:
        for token in answerer.generator.stream(answerer.prompter.ids(prompt), max_tokens):
            ids.append(token)
            yield token

    for piece in pieces(answerer.tokenizer, tokens()):
        events.write(TextGenerated(**events.stamp(), prompt_index=index, text=piece, done=False))
    seconds = time.monotonic() - began
    events.write(
        TextGenerated(
            **events.stamp(),
            prompt_index=index,
            text=answerer.tokenizer.decode(ids),
            done=True,
            new_tokens=len(ids),
            details={"prompt": prompt, "seconds": round(seconds, 3)},
        )
    )


def pieces(tokenizer: TextTokenizer, tokens: Iterator[int]) -> Iterator[str]:
    """Text as it grows. A character that is not whole yet waits for its last token."""
    ids: list[int] = []
    shown = ""
    for token in tokens:
        ids.append(token)
        text = tokenizer.decode(ids)
        if not text.endswith(UNFINISHED) and len(text) > len(shown):
            yield text[len(shown) :]
            shown = text
    rest = tokenizer.decode(ids)[len(shown) :]
    if rest:
        yield rest
