"""The commands, in the order of `anneal --help`."""

from __future__ import annotations

import argparse
from typing import Protocol

from studio.app import Studio
from studio.cli.commands import (
    checkpoint,
    compare,
    data,
    doctor,
    download,
    export,
    generate,
    models,
    pause,
    plan,
    resume,
    runs,
    stop,
    train,
    watch,
)
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output


class Command(Protocol):
    """What each file of `commands/` holds."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode: ...


COMMANDS: tuple[Command, ...] = (
    plan, train, runs, watch, stop, pause, resume, checkpoint, compare, export, generate,
    data, models, download, doctor,
)  # fmt: skip
