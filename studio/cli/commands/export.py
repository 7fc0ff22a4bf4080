"""`anneal export`: a checkpoint as a PEFT adapter or a merged model, written, reloaded and compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.protocol import events as e
from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.run_argument import add_run, find_run
from studio.cli.words import gigabytes
from studio.engine_job import AnyEvent, EngineJob

NAME = "export"
HELP = "write a checkpoint for others to load, and check it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    parser.add_argument("--step", default="best", metavar="best|last|N", help="which checkpoint (default best)")
    parser.add_argument("--format", choices=("peft", "merged"), required=True, help="adapter, or the whole model")
    parser.add_argument("--out", type=Path, metavar="DIR", help="a new or empty folder (default: among the exports)")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """DONE where the self-test is green, SELF_TEST_FAILED where it is red."""
    row = find_run(studio, given.run)
    job = studio.exports.start(row, given.format, checkpoint=given.step, out=given.out)
    try:
        written, verified = _wait(job, output)
    except KeyboardInterrupt:
        job.cancel()
        raise
    finally:
        job.close()
    studio.runs.refresh()
    output.result({"run": row.id, "written": written, "verified": verified})
    if written is not None:
        output.text(f"Written      {written.path} ({gigabytes(written.size_bytes)}), step {written.checkpoint_step}")
    if verified is None or not verified.passed:
        output.text(f"Self-test    failed: {'; '.join(verified.reasons) if verified else 'it did not run'}")
        return ExitCode.SELF_TEST_FAILED
    largest = "" if verified.largest_logit_difference is None else f"{verified.largest_logit_difference:.1e}"
    output.text(
        f"Self-test    passed: {verified.equal_texts} of {verified.prompts} answers equal, largest logit difference "
        f"{largest} (limit {verified.logit_limit:.1e})"
    )
    return ExitCode.DONE


def _wait(job: EngineJob, output: Output) -> tuple[e.ExportWritten | None, e.ExportVerified | None]:
    written: list[e.ExportWritten] = []
    verified: list[e.ExportVerified] = []

    def see(event: AnyEvent) -> None:
        match event:
            case e.PhaseStarted():
                output.note(f"{event.phase.replace('_', ' ').capitalize()}.")
            case e.PhaseProgressed() if event.total:
                output.status(f"{event.phase}: {event.done / event.total:.0%}")
            case e.ExportWritten():
                written.append(event)
            case e.ExportVerified():
                verified.append(event)

    job.watch(see)
    output.status("")
    if not verified:
        job.raise_problem()
    return (written[-1] if written else None), (verified[-1] if verified else None)
