"""All ops that exist, as one immutable mapping from name to OpSpec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from engine.graph.errors import GraphError
from engine.graph.ops import attention, embedding, head, linear, norm, packed, pointwise, segments, step
from engine.graph.opspec import OpSpec

Catalogue = Mapping[str, OpSpec]


def catalogue_of(specs: Iterable[OpSpec]) -> Catalogue:
    """A catalogue of these specs; GraphError where two have one name."""
    found: dict[str, OpSpec] = {}
    for spec in specs:
        if spec.name in found:
            raise GraphError("graph.duplicate_op", f"op '{spec.name}' is described twice")
        found[spec.name] = spec
    return MappingProxyType(found)


FAMILIES = (embedding, norm, linear, segments, attention, packed, pointwise, head, step)

CATALOGUE = catalogue_of(spec for family in FAMILIES for spec in family.SPECS)


def spec_of(op: str, catalogue: Catalogue = CATALOGUE) -> OpSpec:
    """The spec of `op`; GraphError names the op where there is none."""
    if op not in catalogue:
        raise GraphError("graph.unknown_op", f"op '{op}' has no rules, so it cannot be part of a graph")
    return catalogue[op]
