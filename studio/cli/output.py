"""Where the command line writes: results to standard output, everything on the way there to standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

import msgspec

from engine.protocol.errors import Problem


class Output:
    """With `as_json` standard output gets exactly one JSON value a result (`watch`: one a line), and no prose."""

    def __init__(self, as_json: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json = as_json
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._status = ""

    def result(self, value: object) -> None:
        """The command's result, where JSON was asked for."""
        if self.as_json:
            self._write(self._out, msgspec.json.encode(value).decode() + "\n")

    def text(self, line: str = "") -> None:
        """A line of the result, where text was asked for."""
        if not self.as_json:
            self._write(self._out, line + "\n")

    def note(self, line: str) -> None:
        """A line about what is going on."""
        self.status("")
        self._write(self._err, line + "\n")

    def status(self, line: str) -> None:
        """A line that the next one replaces; only on a terminal."""
        if not self._err.isatty() or line == self._status:
            return
        self._err.write("\r" + line.ljust(len(self._status)) + ("" if line else "\r"))
        self._err.flush()
        self._status = line

    @property
    def is_terminal(self) -> bool:
        return self._err.isatty()

    def problems(self, problems: Sequence[Problem]) -> None:
        """Each on a line of its own, errors first."""
        for problem in sorted(problems, key=lambda p: p.severity != "error"):
            place = f"{problem.where}: " if problem.where else ""
            self.note(f"{problem.severity}: {place}{problem.message} {problem.remedy}".rstrip())

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they need; those whose cells are all numbers are right-aligned."""
        widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
        right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]
        for row in (header, *rows):
            cells = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)]
            self.text("  ".join(cells).rstrip())

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or (cell[:1] in ("-", "−", "+", "") and (cell[1:2].isdigit() or not cell))
