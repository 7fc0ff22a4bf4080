"""How near the kernels of engine/kernels come to the speed of memory: time, bytes, rate, share of a plain copy's rate.

    python3 -m tests.benchmarks.kernel_rates [family …]         on a machine with a GPU and PyCUDA

Bytes are those of each KernelSpec's cost: what any implementation must move. Each kernel runs from a captured graph
that goes round several sets of arguments, together larger than the L2 cache, so that data comes from memory; the time
is the median of replays, launch gaps included. Beside the rate of a large copy stands that of a copy of as many bytes
as the kernel moves: what is lost to size alone.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any  # Any: PyCUDA has no type stubs

import numpy as np
import torch
from numpy.typing import NDArray

from tests.helpers.gpu_kernels import Gpu, gpu
from tests.helpers.kernel_cases import FAMILIES, Dtype, Family, Sizes, head, norm, rope, swiglu

REPLAYS, LAUNCHES, COLD_BYTES = 15, 24, 400 << 20
TORCH: dict[Dtype, torch.dtype] = {"bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}
# Qwen3 0.6B, 1.7B, 8B: hidden, feed-forward, query heads
MODELS = ((1024, 3072, 16), (2048, 6144, 16), (4096, 12288, 32))


class Tensors:
    """tests.helpers.kernel_cases.Memory by torch."""

    def __init__(self) -> None:
        self._kept: list[torch.Tensor] = []

    def _keep(self, tensor: torch.Tensor) -> int:
        self._kept.append(tensor)
        return tensor.data_ptr()

    def random(self, *shape: int, dtype: Dtype = "bf16") -> int:
        return self._keep(torch.randn(shape, device="cuda", dtype=TORCH[dtype]))

    def unset(self, *shape: int, dtype: Dtype = "bf16") -> int:
        return self._keep(torch.empty(shape, device="cuda", dtype=TORCH[dtype]))

    def given(self, values: NDArray[np.generic]) -> int:
        return self._keep(torch.from_numpy(np.ascontiguousarray(values)).cuda())


def microseconds(calls: list[Callable[[Any], object]], stream: Any) -> float:  # Any: pycuda.driver.Stream
    """Median time of one call, from replays of a graph that goes round them."""
    outside = torch.cuda.ExternalStream(stream.handle)
    launches = max(LAUNCHES, len(calls))
    torch.cuda.synchronize()
    with torch.cuda.stream(outside):
        for call in calls:
            call(stream)
        graph = torch.cuda.CUDAGraph()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=outside, capture_error_mode="thread_local"):
            for i in range(launches):
                calls[i % len(calls)](stream)
        times = []
        for _ in range(REPLAYS + 3):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / launches)
    return statistics.median(times[3:])


@cache
def copy_rate(moved: int) -> float:
    """TB/s of torch's simplest kernel, y = −x, where it reads and writes `moved` bytes in all.

    A kernel rather than a copy: as a node of a graph, a device-to-device copy is slower (2.8 against 4.3 TB/s).
    """
    count = max(16, moved // 8)
    pairs = [(torch.randn(count, device="cuda"), torch.empty(count, device="cuda")) for _ in range(cold_sets(moved))]
    return 8 * count / microseconds([_negation(x, y) for x, y in pairs], gpu().stream) / 1e6


def _negation(x: torch.Tensor, y: torch.Tensor) -> Callable[[Any], object]:  # Any: pycuda.driver.Stream
    return lambda _stream: torch.neg(x, out=y)


def cold_sets(moved: int) -> int:
    """How many sets of arguments are larger than the cache together; sixteen at most."""
    return min(16, -(-COLD_BYTES // max(1, moved)))


def bind_one(g: Gpu, family: Family, sizes: Sizes, name: str) -> tuple[Tensors, Any]:  # Any: BoundKernel
    """One kernel on memory of its own; what comes before it in its family runs once, since it may make its inputs."""
    memory = Tensors()
    for each, arguments in family(memory, sizes):
        bound = g.bind(each, **arguments)
        if each == name:
            g.stream.synchronize()
            return memory, bound
        torch.cuda.synchronize()
        bound(g.stream)
    raise LookupError(name)


def measure(g: Gpu, family: Family, sizes: Sizes, name: str, label: str) -> None:
    sets = [bind_one(g, family, sizes, name)]
    moved = sets[0][1].cost.bytes
    sets += [bind_one(g, family, sizes, name) for _ in range(cold_sets(moved) - 1)]
    took = microseconds([bound for _, bound in sets], g.stream)
    rate, large, same = moved / took / 1e6, copy_rate(1 << 31), copy_rate(moved)
    print(
        f"| {name} | {label} | {took:.1f} | {moved / 1e6:.1f} | {rate:.2f} | {rate / large:.0%} | {rate / same:.0%} |",
        flush=True,
    )


def names_of(family: Family, sizes: Sizes) -> list[str]:
    """The kernels of a family, asked at sizes that cost nothing."""
    small = replace(sizes, tokens=8, hidden=64, feed_forward=64, vocabulary=64, logit_rows=1, elements=64)
    return [name for name, _ in family(Tensors(), small)]


def rows(g: Gpu) -> Iterator[tuple[Family, Sizes, str]]:
    """(family, sizes, label of the shape): what depends on the model at three models' sizes, all else once."""
    for hidden, feed_forward, q_heads in MODELS:
        sizes = Sizes(4096, hidden, feed_forward, q_heads, 8, 128, 151936, 1024, 1 << 26, g.shared_bytes)
        yield norm, sizes, f"4096×{hidden}"
        yield rope, sizes, f"4096×({q_heads}+8)×128"
        yield swiglu, sizes, f"4096×{feed_forward}"
    yield head, sizes, "1024×151936"
    for family in FAMILIES:
        if family not in (norm, rope, swiglu, head):
            yield family, sizes, "N 4096, D 4096; 2²⁶"


def main(wanted: list[str]) -> None:
    g = gpu()
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    print(f"y = −x, 2 GiB moved: {copy_rate(1 << 31):.2f} TB/s")
    print("| kernel | shape | µs | MB | TB/s | of large copy | of same copy |\n|---|---|---|---|---|---|---|")
    for family, sizes, label in rows(g):
        if wanted and family.__name__ not in wanted:
            continue
        for name in names_of(family, sizes):
            measure(g, family, sizes, name, label)


if __name__ == "__main__":
    main(sys.argv[1:])
