"""Watching one run by its own files, event by event, without the history: for `anneal train` and `anneal watch`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from engine.protocol.events import decode_event
from engine.protocol.folder import RunFolder
from studio.runs.fold import AnyEvent
from studio.runs.tail import Position, read_new_lines


def follow(
    folder: RunFolder, is_alive: Callable[[], bool], *, from_start: bool = True, poll_seconds: float = 0.1
) -> Iterator[AnyEvent | None]:
    """Events as they come, and None each time there is nothing new; ends when the engine has and all is read.

    Args:
        from_start: also give the events that are there already.
    """
    position = Position()
    while not from_start:
        reading = read_new_lines(folder.events, position)
        position, from_start = reading.position, not reading.more
    while True:
        alive = is_alive()  # asked before reading: what a dying engine wrote last is still read
        reading = read_new_lines(folder.events, position)
        position = reading.position
        for line in reading.lines:
            try:
                yield decode_event(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
        if not reading.more:
            if not alive:
                return
            yield None
            time.sleep(poll_seconds)
