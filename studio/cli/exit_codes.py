"""What `anneal` says by its exit code. Printed by `anneal --help`, and held by a test."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """2 is argparse's own."""

    DONE = 0
    BUG = 1
    USAGE = 2
    SURROUNDINGS = 3
    REFUSED = 4
    RUN_FAILED = 5
    STOPPED = 6
    SELF_TEST_FAILED = 7
    INTERRUPTED = 130


MEANINGS: dict[ExitCode, str] = {
    ExitCode.DONE: "done",
    ExitCode.BUG: "a fault of ours",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.SURROUNDINGS: "a file, the disk, the network or the machine is in the way",
    ExitCode.REFUSED: "the recipe or its plan has problems, and nothing was launched",
    ExitCode.RUN_FAILED: "the run failed or was lost",
    ExitCode.STOPPED: "the run was stopped before its last step",
    ExitCode.SELF_TEST_FAILED: "the export was written, but its self-test is red",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C; a run goes on by itself",
}
