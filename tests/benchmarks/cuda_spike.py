"""What the CUDA engine is decided on: attention backends, fp32 accumulation, graph capture, what memory really costs.

On a machine with one NVIDIA GPU, PyCUDA and cuDNN's front end:  python3 -m tests.benchmarks.cuda_spike
Prints facts only; the decisions that follow from them are in engine/README.md.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

import cudnn
import pycuda.driver as cuda
import pynvml
import torch

from tests.benchmarks.cudnn_attention import BF16, F32, Attention

MIB = 2**20
GEMMS = {  # name: tokens, outputs, inputs
    "8B qkv": (4096, 6144, 4096),
    "8B gate+up": (4096, 24576, 4096),
    "8B down": (4096, 4096, 12288),
    "8B head chunk": (1024, 151936, 4096),
    "0.6B qkv": (4096, 4096, 1024),
    "0.6B gate+up": (4096, 6144, 1024),
    "LoRA A": (4096, 16, 4096),
    "LoRA A, three at once": (4096, 48, 4096),
    "LoRA B": (4096, 4096, 16),
    "LoRA B, K = 64": (4096, 4096, 64),
    "dA": (16, 4096, 4096),
    "dB": (4096, 16, 4096),
}
SOURCE = """
extern "C" __global__ void scale(float *x, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= f;
}
"""


def process_mib() -> float:
    """NVML's memory of this process; where the driver does not tell, what the card has in use."""
    running = pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(0))
    mine = [p.usedGpuMemory for p in running if p.pid == os.getpid() and p.usedGpuMemory]
    free, total = torch.cuda.mem_get_info()
    return float(mine[0] if mine else total - free) / MIB


def captured(call: Callable[[], object], repeats: int = 1) -> torch.cuda.CUDAGraph:
    """`call` in a graph, `repeats` times, after a warm-up outside of it."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    return graph


def milliseconds(call: Callable[[], object], repeats: int = 10, samples: int = 9) -> float:
    """Median GPU time of one call, replayed from a graph so that launches cost nothing."""
    graph = captured(call, repeats)
    times = []
    for _ in range(samples):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / repeats)
    return statistics.median(times)


def memory() -> None:
    print("\n== memory of the process by NVML, MiB, step by step (torch's reservation is part of it)")

    def row(what: str) -> None:
        print(f"{what:28s} {process_mib():7.0f}   torch {torch.cuda.memory_reserved() / MIB:.0f}", flush=True)

    row("primary context")
    a = torch.randn(4096, 4096, device="cuda", dtype=BF16)
    row("one tensor of 32 MiB")
    torch.mm(a, a)
    row("bf16 GEMM")
    torch.addmm(torch.zeros(4096, 4096, device="cuda"), a, a, out_dtype=F32)
    row("GEMM with fp32 result")
    Attention(1, 256, 8, 8, 128, ragged=False, deterministic=False).forward()
    torch.cuda.synchronize()
    row("cuDNN attention")


def attention() -> None:
    print("\n== attention, cuDNN front end, B 2, H 32, K 8, HD 128, causal, our buffers")
    b, h, k, d = 2, 32, 8, 128
    for s in (2048, 8192):
        flops = 4 * b * h * s * s * d / 2
        for ragged in (False, True):
            for deterministic in (False, True):
                a = Attention(b, s, h, k, d, ragged=ragged, deterministic=deterministic)
                forward, backward = milliseconds(a.forward, 3), milliseconds(a.backward, 3)
                first = [tensor.clone() for tensor in a.gradients()]
                again = all(_same_again(a, first) for _ in range(5))
                print(
                    f"S {s} {'ragged' if ragged else 'dense '} {'deterministic' if deterministic else 'fast':13s} "
                    f"forward {flops / forward / 1e9:.0f} backward {2.5 * flops / backward / 1e9:.0f} TFLOP/s  "
                    f"workspace {a.workspace.numel() / MIB:.0f} MiB  repeatable {again}",
                    flush=True,
                )
                del a, first
                torch.cuda.empty_cache()


def _same_again(a: Attention, first: list[torch.Tensor]) -> bool:
    a.forward()
    a.backward()
    return all(torch.equal(x, y) for x, y in zip(first, a.gradients(), strict=True))


def gemm_row(name: str, m: int, n: int, k: int) -> None:
    a, w = torch.randn(m, k, device="cuda", dtype=BF16), torch.randn(n, k, device="cuda", dtype=BF16)
    out, total = torch.empty(m, n, device="cuda", dtype=BF16), torch.zeros(m, n, device="cuda")
    times = {
        "mm": milliseconds(lambda: torch.mm(a, w.t(), out=out)),
        "addmm bf16": milliseconds(lambda: torch.addmm(out, a, w.t(), beta=0.5, out=out)),
        "addmm fp32": milliseconds(lambda: torch.addmm(total, a, w.t(), out_dtype=F32, out=total)),
    }
    rates = "  ".join(f"{what} {t * 1e3:7.1f} us {2 * m * n * k / t / 1e9:4.0f} TFLOP/s" for what, t in times.items())
    print(f"{name:22s} {rates}", flush=True)


def mixture() -> None:
    print("\n== one captured micro-step: PyCUDA kernel, GEMM and cuDNN attention on a PyCUDA stream")
    from engine.kernels.nvrtc import Nvrtc, find_library

    cubin = Nvrtc(find_library()).compile("scale.cu", SOURCE, {}, ["--gpu-architecture=sm_90"])
    kernel = cuda.module_from_buffer(cubin).get_function("scale")
    kernel.prepare("Pfi")
    stream = cuda.Stream()
    x = torch.ones(2**20, device="cuda")
    a = torch.randn(1024, 1024, device="cuda", dtype=BF16)
    out = torch.empty_like(a)
    heads = Attention(2, 1024, 8, 8, 128, ragged=True, deterministic=True)

    def micro_step() -> None:
        kernel.prepared_async_call((4096, 1), (256, 1, 1), stream, x.data_ptr(), 2.0, 2**20)
        torch.mm(a, a, out=out)
        heads.forward()
        heads.backward()

    with torch.cuda.stream(torch.cuda.ExternalStream(stream.handle)):
        micro_step()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = process_mib()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.ExternalStream(stream.handle)):
            for _ in range(100):
                micro_step()
        x.fill_(2.0**-100)
        graph.replay()
        torch.cuda.synchronize()
    nodes = 100 * 6
    print(f"x after 100 doublings of 2^-100: {x[0].item()} (1.0 expected)")
    print(f"a graph of about {nodes} nodes costs {process_mib() - before:.0f} MiB")
    start = time.perf_counter()
    for _ in range(1000):
        kernel.prepared_async_call((4096, 1), (256, 1, 1), stream, x.data_ptr(), 1.0, 2**20)
    print(f"host time of a prepared launch {(time.perf_counter() - start) * 1e3:.1f} us")
    torch.cuda.synchronize()


def main() -> None:
    cuda.init()
    pynvml.nvmlInit()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    print(
        f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, cuDNN {cudnn.backend_version()}, "
        f"front end {cudnn.__version__}"
    )
    memory()
    attention()
    print("\n== GEMM [tokens, outputs, inputs]")
    for name, shape in GEMMS.items():
        gemm_row(name, *shape)
    mixture()
    context.pop()


if __name__ == "__main__":
    main()
