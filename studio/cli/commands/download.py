"""`anneal download`: fetch a model into the Hub's cache; goes on where an earlier download was cut off."""

from __future__ import annotations

import argparse
import time

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.cli.words import duration, gigabytes
from studio.hub.downloads import Download

NAME = "download"
HELP = "fetch a model from the Hub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="organisation/name")
    parser.add_argument("--revision", default="main", help="branch, tag or commit (default main)")
    parser.add_argument("--detach", action="store_true", help="do not wait for it")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """DONE when the model is here; SURROUNDINGS where it could not be fetched. Ctrl-C pauses the download."""
    downloads = studio.hub().downloads
    identity = downloads.start(given.model, given.revision)
    if given.detach:
        output.text(identity)
        output.result({"id": identity})
        return ExitCode.DONE
    try:
        download = _wait(studio, identity, output)
    except KeyboardInterrupt:
        downloads.pause(identity)
        output.note("Paused. The same command goes on at the byte where it was.")
        raise
    output.result(download)
    if download.state != "done":
        output.problems([download.problem] if download.problem else [])
        output.note(f"The download is {download.state}. The same command goes on where it was.")
        return ExitCode.SURROUNDINGS
    output.text(f"{download.repository} at {download.commit} is on this disk ({gigabytes(download.total_bytes)}).")
    return ExitCode.DONE


def _wait(studio: Studio, identity: str, output: Output) -> Download:
    told = 0.0
    while True:
        download = studio.hub().downloads.get(identity)
        if not download.is_active:
            output.status("")
            return download
        line = _line(download)
        if output.is_terminal:
            output.status(line)
        elif time.monotonic() - told > 5.0:
            told = time.monotonic()
            output.note(line)
        time.sleep(0.1)


def _line(download: Download) -> str:
    if download.notice is not None:
        return f"{download.repository}: {download.notice.message}"
    left = f", {duration(download.seconds_left)} left" if download.seconds_left is not None else ""
    return f"{download.repository}: {gigabytes(download.done_bytes)} of {gigabytes(download.total_bytes)}{left}"
