"""One go at a run: what was asked, and where to say what happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from engine.protocol.folder import RunFolder
from engine.protocol.plan import Plan
from engine.protocol.recipe import ResolvedRecipe
from engine.training.event_writer import EventWriter
from engine.training.phases import Progress, phase
from engine.training.watch import Watch


@dataclass(frozen=True)
class Attempt:
    """`resume_from` is the step of the checkpoint to go on from, None for a fresh start."""

    folder: RunFolder
    recipe: ResolvedRecipe
    plan: Plan
    resume_from: int | None
    events: EventWriter
    watch: Watch

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Progress]:
        """A phase of this attempt (see `phases`)."""
        with phase(name, self.events, self.watch.tick) as progress:
            yield progress
