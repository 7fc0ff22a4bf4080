"""`anneal`: everything that the window does, from a terminal. Needs no Qt."""

from __future__ import annotations

import argparse
import io
import os
import sqlite3
import sys
import traceback
from collections.abc import Sequence

from engine.protocol.errors import Bug, EngineError, Problem, ProblemsError
from studio.app import Studio, open_studio
from studio.cli.command_list import COMMANDS
from studio.cli.exit_codes import MEANINGS, ExitCode
from studio.cli.output import Output
from studio.runs.service import ENGINE_COMMAND


def build_parser() -> argparse.ArgumentParser:
    """The whole command line. One file of `commands/` adds one command."""
    codes = "\n".join(f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items())
    parser = argparse.ArgumentParser(
        prog="anneal",
        description="Fine-tune language models: plan, train, watch, compare, export.",
        epilog=f"RUN is the beginning of a run's id, its name if no other has it, or `last`.\n\nexit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--home", metavar="DIR", help="where everything is kept (default: ANNEAL_HOME, or user data)")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = subparsers.add_parser(
            command.NAME, help=command.HELP, description=command.HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        sub.add_argument("--home", metavar="DIR", default=argparse.SUPPRESS, help="where everything is kept")
        sub.add_argument("--json", action="store_true", help="the result as JSON on standard output")
        command.add_arguments(sub)
        sub.set_defaults(action=command.run)
    return parser


def main(arguments: Sequence[str] | None = None, *, engine_command: Sequence[str] = ENGINE_COMMAND) -> int:
    """Run one command and return its exit code. argparse ends the process itself for a wrong command line.

    `engine_command` is what engine commands are appended to: tests give a stand-in.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal of few letters is no reason to fail
    given = build_parser().parse_args(arguments)
    output = Output(given.json)
    studio: Studio | None = None
    try:
        studio = open_studio(given.home, engine_command=engine_command)
        return int(given.action(studio, given, output))
    except BrokenPipeError:
        # Whoever read us (`| head`) has gone; what Python still wants to flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)
    except ProblemsError as error:
        output.problems(error.problems)
        output.result({"problems": error.problems})
        return int(ExitCode.REFUSED)
    except EngineError as error:
        output.note(f"error: {error}")
        output.result({"problems": [error.problem()]})
        return int(ExitCode.BUG if isinstance(error, Bug) else ExitCode.SURROUNDINGS)
    except (OSError, sqlite3.OperationalError) as error:  # the latter: the history's disk is full or may not be written
        output.note(f"error: {error}")
        output.result({"problems": [Problem("system", str(error))]})
        return int(ExitCode.SURROUNDINGS)
    except KeyboardInterrupt:
        output.note("Interrupted.")
        return int(ExitCode.INTERRUPTED)
    except Exception:
        output.note(traceback.format_exc())
        output.note("This is a fault of ours. Please report it with the lines above.")
        return int(ExitCode.BUG)
    finally:
        output.status("")
        if studio is not None:
            studio.close()


if __name__ == "__main__":
    sys.exit(main())
