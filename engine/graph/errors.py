"""The one exception of the graph floor."""

from __future__ import annotations

from engine.protocol.errors import Bug


class GraphError(Bug):
    """An illegal graph, schedule or shape. Graphs are built by us, so it is always our own mistake."""
