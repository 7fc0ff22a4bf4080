"""The downloader: `python -m studio.hub.download --request FILE`. A process of its own, so that it outlives the window.

One thread transfers; the main thread writes progress and reads commands, so neither a silent server nor a slow disk
keeps a pause waiting. It listens on no socket and may be killed at any moment: what has come stays in the `.part`
files, and the next attempt goes on at the byte where this one was.
"""

from __future__ import annotations

import argparse
import sys
import threading
import traceback
from pathlib import Path

from huggingface_hub import get_token

from engine.protocol.errors import Bug, EngineError, SurroundingsError
from engine.protocol.lock import ProcessLock
from studio.hub.board import Board
from studio.hub.connection import Connection
from studio.hub.download_state import DownloadFolder
from studio.hub.fetch import RepositoryFetch
from studio.hub.secrets import redact
from studio.hub.transfer import Stopped

_BEAT_SECONDS = 0.1
_SAVE_EVERY_BEATS = 3
_GOODBYE_SECONDS = 1.0

EXIT_DONE, EXIT_FAILED, EXIT_STOPPED, EXIT_ALREADY_RUNNING = 0, 1, 2, 3


class Supervisor:
    """Runs one attempt of the download in `folder`, holding its lock."""

    def __init__(self, folder: DownloadFolder, connection: Connection) -> None:
        self._folder = folder
        before = folder.progress()
        self._attempt = before.attempt
        self._board = Board(before)
        request = folder.request()
        self._fetch = RepositoryFetch(request, before.commit, self._board, connection)
        self._thread = threading.Thread(target=self._transfer, name="transfer", daemon=True)

    def run(self) -> int:
        """Transfer to the end or to a command; returns the exit code."""
        self._save()
        self._thread.start()
        beats = 0
        while self._thread.is_alive():
            self._thread.join(_BEAT_SECONDS)
            beats += 1
            command = self._folder.command()
            if command and command.attempt == self._attempt:
                return self._stop(paused=command.kind == "pause")
            if beats % _SAVE_EVERY_BEATS == 0:
                self._save()
        self._save()
        return EXIT_DONE if self._board.snapshot().state == "done" else EXIT_FAILED

    def _stop(self, paused: bool) -> int:
        self._board.stopping.set()
        self._thread.join(_GOODBYE_SECONDS)  # a thread that still waits for a silent server ends with the process
        if self._board.snapshot().state == "done":
            self._save()
            return EXIT_DONE
        self._board.close("paused" if paused else "cancelled")
        self._save()
        return EXIT_STOPPED

    def _save(self) -> None:
        try:
            self._folder.write_progress(self._board.snapshot())
        except OSError as error:  # the home's disk may be full while the cache's is not: the transfer goes on
            print(f"progress could not be written: {error}", file=sys.stderr, flush=True)

    def _transfer(self) -> None:
        try:
            self._fetch.run()
        except Stopped:
            return
        except EngineError as error:
            self._board.close("failed", error.problem())
        except Exception as error:  # anything else is our bug: it must end in the file, not in a silent thread
            print(redact(traceback.format_exc(), get_token()), file=sys.stderr, flush=True)
            bug = Bug("download_bug", f"The downloader failed: {type(error).__name__}.", "See download.log.")
            self._board.close("failed", bug.problem())
        else:
            self._board.close("done")


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 when everything is on disk, 1 on failure, 2 when stopped by command, 3 if another process is at it."""
    parser = argparse.ArgumentParser(prog="studio.hub.download")
    parser.add_argument("--request", type=Path, required=True, help="request.json of the download")
    folder = DownloadFolder(parser.parse_args(arguments).request.absolute().parent)
    lock = ProcessLock(folder.lock)
    try:
        lock.acquire()
    except SurroundingsError:
        return EXIT_ALREADY_RUNNING
    try:
        return Supervisor(folder, Connection()).run()
    finally:
        lock.release()


if __name__ == "__main__":
    raise SystemExit(main())
