"""Every kernel once at small and ragged shapes, with PyCUDA alone, for compute-sanitizer to watch:

    compute-sanitizer --tool memcheck python3 -m tests.kernels.sanitized_kernels      (also racecheck, initcheck)

Each array is an allocation of its own, so that one byte past an end is seen; outputs are left unset, so that reading
one before it is written is seen too.
"""

from __future__ import annotations

import tempfile
from math import prod
from pathlib import Path
from typing import Any  # Any: PyCUDA has no type stubs

import numpy as np
import pycuda.driver as cuda  # type: ignore[import-not-found, unused-ignore]  # built on GPU machines only, no stubs
from numpy.typing import NDArray

from engine.kernels.catalogue import CATALOGUE
from engine.kernels.compile import CubinCache
from engine.kernels.launcher import Kernels
from engine.kernels.nvrtc import Nvrtc, find_library
from tests.helpers.kernel_cases import FAMILIES, Dtype, Sizes

BYTES: dict[Dtype, int] = {"bf16": 2, "f32": 4, "i32": 4, "i64": 8, "i8": 1, "u8": 1}


class Allocations:
    """tests.helpers.kernel_cases.Memory by cuMemAlloc."""

    def __init__(self) -> None:
        self._kept: list[Any] = []  # Any: pycuda.driver.DeviceAllocation

    def unset(self, *shape: int, dtype: Dtype = "bf16") -> int:
        self._kept.append(cuda.mem_alloc(prod(shape) * BYTES[dtype]))
        return int(self._kept[-1])

    def given(self, values: NDArray[np.generic]) -> int:
        self._kept.append(cuda.mem_alloc(values.nbytes))
        cuda.memcpy_htod(self._kept[-1], np.ascontiguousarray(values))
        return int(self._kept[-1])

    def random(self, *shape: int, dtype: Dtype = "bf16") -> int:
        values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        if dtype == "f32":
            return self.given(values)
        return self.given((values.view(np.uint32) >> 16).astype(np.uint16))


def all_sizes(shared_bytes: int) -> list[Sizes]:
    """Tiny, ragged, and large enough for several blocks of everything."""
    return [
        Sizes(1, 8, 8, 1, 1, 16, 5, 1, 1, shared_bytes),
        Sizes(37, 136, 1032, 5, 1, 96, 1003, 3, 1003, shared_bytes),
        Sizes(1100, 1032, 264, 9, 3, 64, 40_000, 5, 70_001, shared_bytes),
    ]


def main() -> None:
    cuda.init()
    device = cuda.Device(0)
    context = device.make_context()
    try:
        stream = cuda.Stream()
        compiler = Nvrtc(find_library())
        kernels = Kernels(
            CubinCache(Path(tempfile.gettempdir()) / "anneal-test-cubins", compiler), device.compute_capability()
        )
        shared_bytes = device.get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        launched = set()
        for sizes in all_sizes(shared_bytes):
            memory = Allocations()
            for family in FAMILIES:
                for name, arguments in family(memory, sizes):
                    kernels.bind(name, **arguments)(stream)
                    launched.add(name)
            stream.synchronize()
        missing = sorted(set(CATALOGUE) - launched)
        assert not missing, f"no case launches {missing}"
        print(f"{len(launched)} kernels launched at {len(all_sizes(0))} sizes")
    finally:
        context.pop()


if __name__ == "__main__":
    main()
