"""`anneal generate`: answers of a run's checkpoint, or of a model folder or downloaded model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.protocol import events as e
from engine.protocol.errors import SurroundingsError
from engine.protocol.recipe import ModelRef
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import find_run
from studio.engine_job import AnyEvent, EngineJob
from studio.recipes.setting_text import parse_setting

NAME = "generate"
HELP = "answer prompts with a run or a model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", metavar="RUN|MODEL", help="a run, a model folder, or a downloaded model")
    parser.add_argument("--prompt", action="append", required=True, dest="prompts", help="may be given several times")
    parser.add_argument("--step", default="best", metavar="best|last|base|N", help="which checkpoint of a run")
    parser.add_argument("--tokens", type=_at_least_one, default=128, help="most tokens of an answer (default 128)")


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    job = _start(studio, given, output)
    answers: list[dict[str, object]] = []

    def see(event: AnyEvent) -> None:
        match event:
            case e.PhaseStarted():
                output.note(f"{event.phase.replace('_', ' ').capitalize()}.")
            case e.TextGenerated(done=False):
                _piece(event, output)
            case e.TextGenerated():
                prompt = given.prompts[event.prompt_index]
                answers.append({"prompt": prompt, "text": event.text, "new_tokens": event.new_tokens})
                output.text()

    try:
        job.wait(see)
    except KeyboardInterrupt:
        job.cancel()
        raise
    finally:
        job.close()
    output.result(answers)
    return ExitCode.DONE


def _piece(event: e.TextGenerated, output: Output) -> None:
    if not output.as_json:
        sys.stdout.write(event.text)
        sys.stdout.flush()


def _start(studio: Studio, given: argparse.Namespace, output: Output) -> EngineJob:
    path = Path(given.subject).expanduser()
    if (path / "config.json").is_file():
        return studio.generation.from_model(path.absolute(), given.prompts, new_tokens=given.tokens)
    if "/" in given.subject:
        reference = parse_setting("model", given.subject)
        if isinstance(reference, ModelRef) and reference.source == "hub":
            folder = Path(studio.hub().find(reference).path)
            return studio.generation.from_model(folder, given.prompts, new_tokens=given.tokens)
        raise SurroundingsError("model_missing", f"{given.subject} is no model folder.", "Check the path.")
    row = find_run(studio, given.subject)
    return studio.generation.from_run(row.id, given.prompts, checkpoint=given.step, new_tokens=given.tokens)
