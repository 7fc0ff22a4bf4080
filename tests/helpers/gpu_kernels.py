"""Running one kernel of engine/kernels on torch tensors, on the GPU of this machine.

A test hands over tensors by parameter name; outputs are poisoned beforehand, so that an element that is not written is
a NaN. Kernels run on a PyCUDA stream of their own, with everything before and after it finished.
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import Any  # Any: PyCUDA has no type stubs

import torch

from engine.kernels.compile import CubinCache
from engine.kernels.nvrtc import Nvrtc, find_library
from engine.kernels.spec import Number

BF16, F32, I32, I64 = torch.bfloat16, torch.float32, torch.int32, torch.int64
HALF_UNIT = 2.0**-8  # of a bf16, relative: half the distance of 2⁻⁷ between neighbours above 1
F32_EPSILON = 2.0**-23
# What is smaller than 2⁻¹²⁶ may become zero on the way; no test multiplies it by more than 2¹² afterwards.
UNDERFLOW = 2.0**-114


class Gpu:
    """The first GPU: torch's primary context made current for PyCUDA, and the kernels compiled for it."""

    def __init__(self) -> None:
        import pycuda.driver as cuda

        from engine.kernels.launcher import Kernels

        cuda.init()
        device = cuda.Device(0)
        self.context = device.retain_primary_context()
        self.context.push()
        atexit.register(self.context.pop)  # PyCUDA aborts the process where a context is left
        self.stream = cuda.Stream()
        self.multiprocessors = device.multiprocessor_count
        self.shared_bytes = device.get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        folder = Path(tempfile.gettempdir()) / "anneal-test-cubins"
        self.kernels = Kernels(CubinCache(folder, Nvrtc(find_library())), device.compute_capability())

    def bind(self, name: str, **arguments: torch.Tensor | Number | None) -> Any:  # Any: BoundKernel, GPU machines only
        return self.kernels.bind(name, **{k: _plain(v) for k, v in arguments.items()})

    def run(self, name: str, **arguments: torch.Tensor | Number | None) -> None:
        """Launch once and wait for it."""
        bound = self.bind(name, **arguments)
        torch.cuda.synchronize()
        bound(self.stream)
        self.stream.synchronize()


@cache
def gpu() -> Gpu:
    return Gpu()


def _plain(value: torch.Tensor | Number | None) -> Number:
    if isinstance(value, torch.Tensor):
        assert value.is_cuda and value.is_contiguous()
        return value.data_ptr()
    return 0 if value is None else value


def poisoned(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    """Device memory as a used arena leaves it: every float a NaN, every integer −1."""
    tensor = torch.empty(shape, dtype=dtype, device="cuda")
    tensor.view(-1).view(torch.uint8).fill_(0xFF)
    return tensor


def draw(*shape: int, dtype: torch.dtype = BF16, scale: float = 1.0, seed: int = 0) -> torch.Tensor:
    """Normal numbers on the GPU that `dtype` holds exactly."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return (torch.randn(shape, generator=generator, dtype=F32) * scale).to(dtype).cuda()


def whole_numbers(high: int, count: int, seed: int = 0) -> torch.Tensor:
    """i32[count] in 0 … high − 1."""
    return torch.randint(high, (count,), generator=torch.Generator().manual_seed(seed + count), dtype=I32).cuda()


def step_state(seed: int, step: int, micro_batch: int) -> torch.Tensor:
    return torch.tensor([seed - (1 << 64) if seed >> 63 else seed, step, micro_batch, 0], dtype=I64, device="cuda")


def assert_stored(actual: torch.Tensor, exact: torch.Tensor, arithmetic: torch.Tensor | float) -> None:
    """`actual` is `exact` (float64) up to the rounding of its own dtype and `arithmetic`, an absolute bound on what the
    fp32 calculation before the store may be off by."""
    unit = HALF_UNIT if actual.dtype == BF16 else F32_EPSILON / 2
    error = (actual.double() - exact).abs()
    assert not torch.isnan(error).any(), "a NaN: an output was not written everywhere"
    # Rounding is relative to the value that was rounded, which is off by `arithmetic` already; 1.01 covers that.
    over = error - (unit * exact.abs() + arithmetic) * 1.01 - UNDERFLOW
    assert float(over.max()) <= 0, f"off by {float(over.max()):.3g} more than allowed, at {int(over.argmax())}"


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bit for bit, NaN included."""
    return bool(torch.equal(a.view(-1).view(torch.uint8), b.view(-1).view(torch.uint8)))
