"""Checking a kernel's arguments against its spec before anything touches the device."""

from __future__ import annotations

from engine.kernels.spec import Arguments, KernelSpec, Number, Parameter
from engine.protocol.errors import Bug


def checked(spec: KernelSpec, arguments: Arguments) -> Arguments:
    """All arguments of `spec`, with null for optional pointers that were left out. Bug where something is wrong."""
    names = {each.name for each in spec.parameters}
    unknown = sorted(set(arguments) - names)
    if unknown:
        raise refusal(spec.name, f"has no parameter '{unknown[0]}'")
    complete = {each.name: _default(spec, each, arguments) for each in spec.parameters}
    for each in spec.parameters:
        value = complete[each.name]
        if each.kind == "pointer" and (int(value) % each.alignment or not (value or each.optional)):
            raise refusal(spec.name, f"cannot take address {int(value):#x} for '{each.name}'")
    for demand in spec.demands:
        if not demand.holds(complete):
            sizes = ", ".join(f"{k} {v}" for k, v in complete.items())
            raise refusal(spec.name, f"{demand.says}, but got {sizes}")
    return complete


def _default(spec: KernelSpec, parameter: Parameter, arguments: Arguments) -> Number:
    if parameter.name not in arguments:
        if parameter.optional:
            return 0
        raise refusal(spec.name, f"needs '{parameter.name}'")
    return arguments[parameter.name]


def refusal(kernel: str, why: str) -> Bug:
    """The error for a launch that our own code asked for and that cannot be."""
    return Bug("kernel_arguments", f"Kernel {kernel} {why}.", "Please report this with the recipe.", where=kernel)
