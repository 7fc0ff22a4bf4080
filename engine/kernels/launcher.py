"""A KernelSpec and its arguments become a prepared launch on fixed addresses. The only module that touches PyCUDA.

A CUDA context must be current (the runtime retains torch's primary context); calls come from the engine's thread only.
Launches go to the stream that they are given and return at once: nothing here allocates or waits on the device.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any  # Any: PyCUDA has no type stubs

import pycuda.driver as cuda  # type: ignore[import-not-found, unused-ignore]  # built on GPU machines only, no stubs

from engine.kernels.arguments import checked, refusal
from engine.kernels.catalogue import CATALOGUE
from engine.kernels.compile import CubinCache, architecture_of
from engine.kernels.spec import KernelCost, KernelSpec, Kind, Launch, Number, Parameter

_LETTERS: Mapping[Kind, str] = {"pointer": "P", "int32": "i", "uint32": "I", "int64": "q", "float32": "f"}
_STATIC_SHARED_LIMIT = 48 * 1024  # more must be asked for, function by function


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """A launch with all its arguments: calling it with a PyCUDA stream is all that is left to do."""

    spec: KernelSpec
    launch: Launch
    cost: KernelCost
    enqueue: Callable[[Any], None]  # Any: pycuda.driver.Stream

    def __call__(self, stream: Any) -> None:  # Any: pycuda.driver.Stream
        self.enqueue(stream)


class Kernels:
    """The kernels of one device: modules are compiled (or taken from the cache) and loaded when first asked for."""

    def __init__(self, cache: CubinCache, capability: tuple[int, int]) -> None:
        self._cache = cache
        self._capability = capability
        self._modules: dict[tuple[str, str], Any] = {}  # Any: pycuda.driver.Module

    def bind(self, name: str, **arguments: Number) -> BoundKernel:
        """The kernel `name` on these arguments (addresses of device memory as integers; an optional pointer that is
        left out is null). Bug for arguments that the kernel's spec does not allow."""
        if name not in CATALOGUE:
            raise refusal(name, "does not exist")
        spec = CATALOGUE[name]
        complete = checked(spec, arguments)
        launch = spec.launch(complete)
        function = self._function(spec)
        limit = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        if launch.shared_bytes > max(
            _STATIC_SHARED_LIMIT, function.get_attribute(limit)
        ):  # an earlier bind may need more
            function.set_attribute(limit, launch.shared_bytes)
        values = tuple(_value(each, complete[each.name]) for each in spec.parameters)
        call, grid, block, shared = function.prepared_async_call, launch.grid, launch.block, launch.shared_bytes

        def enqueue(stream: Any) -> None:  # Any: pycuda.driver.Stream
            call(grid, block, stream, *values, shared_size=shared)

        return BoundKernel(spec, launch, spec.cost(complete), enqueue)

    def _function(self, spec: KernelSpec) -> Any:  # Any: pycuda.driver.Function
        architecture = architecture_of(self._capability, spec)
        key = spec.file, architecture
        if key not in self._modules:
            self._modules[key] = cuda.module_from_buffer(self._cache.cubin(spec.file, architecture))
        function = self._modules[key].get_function(spec.name)
        return function.prepare("".join(_LETTERS[each.kind] for each in spec.parameters))


def _value(parameter: Parameter, value: Number) -> Number:
    """The number as the packed argument wants it; struct raises where an integer does not fit its type."""
    if parameter.kind == "float32":
        return float(value)
    struct.pack(_LETTERS[parameter.kind], int(value))
    return int(value)
