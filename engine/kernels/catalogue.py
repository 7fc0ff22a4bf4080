"""All kernels that exist, as one immutable mapping from name to KernelSpec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from engine.kernels.families import norm, optimizer, pointwise, rope, tokens
from engine.kernels.spec import KernelSpec
from engine.protocol.errors import Bug


def catalogue_of(specs: Iterable[KernelSpec]) -> Mapping[str, KernelSpec]:
    """A catalogue of these specs; Bug where two have one name."""
    found: dict[str, KernelSpec] = {}
    for spec in specs:
        if spec.name in found:
            raise Bug("duplicate_kernel", f"Kernel '{spec.name}' is described twice.", "Please report this.")
        found[spec.name] = spec
    return MappingProxyType(found)


FAMILIES = (norm, rope, pointwise, tokens, optimizer)

CATALOGUE = catalogue_of(spec for family in FAMILIES for spec in family.SPECS)
