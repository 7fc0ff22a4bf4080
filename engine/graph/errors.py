"""The one exception of the graph floor: a graph, schedule or shape that is not legal."""

from __future__ import annotations


class GraphError(Exception):
    """An illegal graph, with a stable `code`, what happened, and what to do about it."""

    def __init__(self, code: str, message: str, remedy: str = "This is a bug in the engine: report it.") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
