"""What the CUDA engine is decided on: attention backends, fp32 accumulation, graph capture, what memory really costs.

Run on a machine with one NVIDIA GPU, PyCUDA and cuDNN's front end: python3 tests/benchmarks/cuda_spike.py
Prints facts only; the decisions that follow from them are in engine/README.md.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable

import cudnn
import pycuda.driver as cuda
import pynvml
import torch

GIB = 2**30
MIB = 2**20
BF16, F32, I32 = torch.bfloat16, torch.float32, torch.int32


def process_bytes() -> int:
    pynvml.nvmlInit()
    running = pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(0))
    mine = [p.usedGpuMemory for p in running if p.pid == os.getpid() and p.usedGpuMemory]
    free, total = torch.cuda.mem_get_info()
    return mine[0] if mine else total - free


def milliseconds(call: Callable[[], object], repeats: int = 20) -> float:
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return statistics.median(times)


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


class Attention:
    """One cuDNN front-end graph pair (forward, backward) on tensors [B, S, H, D] of one buffer each."""

    def __init__(self, b: int, s: int, h: int, k: int, d: int, *, ragged: bool, deterministic: bool) -> None:
        self.b, self.s, self.h, self.k, self.d = b, s, h, k, d
        self.handle = cudnn.create_handle()
        n = b * s
        make = lambda heads: torch.randn(n, heads, d, device="cuda", dtype=BF16)
        self.q, self.kk, self.v = make(h), make(k), make(k)
        self.o, self.do = torch.empty_like(self.q), make(h)
        self.dq, self.dk, self.dv = torch.empty_like(self.q), torch.empty_like(self.kk), torch.empty_like(self.v)
        self.lse = torch.empty(b, h, s, 1, device="cuda", dtype=F32)
        lengths = torch.full((b,), s, dtype=I32)
        self.lengths = lengths.cuda().view(b, 1, 1, 1)
        starts = torch.cat([torch.zeros(1, dtype=I32), lengths.cumsum(0).to(I32)])
        self.offset_q = (starts * h * d).cuda().view(b + 1, 1, 1, 1)
        self.offset_k = (starts * k * d).cuda().view(b + 1, 1, 1, 1)
        self.ragged, self.deterministic = ragged, deterministic
        self.forward_graph, self.forward_pack = self._forward()
        self.backward_graph, self.backward_pack = self._backward()
        size = max(self.forward_graph.get_workspace_size(), self.backward_graph.get_workspace_size())
        self.workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)

    def _new(self):
        return cudnn.pygraph(
            io_data_type=cudnn.data_type.BFLOAT16,
            intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT,
            handle=self.handle,
        )

    def _tensor(self, graph, name: str, heads: int):
        s, d = self.s, self.d
        return graph.tensor(
            name=name,
            dim=[self.b, heads, s, d],
            stride=[s * heads * d, d, heads * d, 1],
            data_type=cudnn.data_type.BFLOAT16,
        )

    def _ragged_tensors(self, graph):
        like = lambda t, name: (
            graph.tensor_like(t).set_name(name) if hasattr(graph.tensor_like(t), "set_name") else graph.tensor_like(t)
        )
        return [like(t, n) for t, n in ((self.lengths, "lengths"), (self.offset_q, "oq"), (self.offset_k, "ok"))]

    def _forward(self):
        graph = self._new()
        q, k, v = self._tensor(graph, "q", self.h), self._tensor(graph, "k", self.k), self._tensor(graph, "v", self.k)
        pack = {q: self.q, k: self.kk, v: self.v}
        extra = {}
        if self.ragged:
            lengths, oq, ok = self._ragged_tensors(graph)
            q.set_ragged_offset(oq)
            k.set_ragged_offset(ok)
            v.set_ragged_offset(ok)
            pack |= {lengths: self.lengths, oq: self.offset_q, ok: self.offset_k}
            extra = dict(use_padding_mask=True, seq_len_q=lengths, seq_len_kv=lengths)
        o, stats = graph.sdpa(
            name="sdpa", q=q, k=k, v=v, is_inference=False, attn_scale=self.d**-0.5, use_causal_mask=True, **extra
        )
        s, h, d = self.s, self.h, self.d
        o.set_output(True).set_dim([self.b, h, s, d]).set_stride([s * h * d, d, h * d, 1])
        if self.ragged:
            o.set_ragged_offset(oq)
        stats.set_output(True).set_data_type(cudnn.data_type.FLOAT)
        pack |= {o: self.o, stats: self.lse}
        self._build(graph)
        return graph, pack

    def _backward(self):
        graph = self._new()
        q, k, v = self._tensor(graph, "q", self.h), self._tensor(graph, "k", self.k), self._tensor(graph, "v", self.k)
        o, do = self._tensor(graph, "o", self.h), self._tensor(graph, "do", self.h)
        stats = graph.tensor(
            name="stats",
            dim=[self.b, self.h, self.s, 1],
            stride=[self.h * self.s, self.s, 1, 1],
            data_type=cudnn.data_type.FLOAT,
        )
        pack = {q: self.q, k: self.kk, v: self.v, o: self.o, do: self.do, stats: self.lse}
        extra = {}
        if self.ragged:
            lengths, oq, ok = self._ragged_tensors(graph)
            for t in (q, o, do):
                t.set_ragged_offset(oq)
            for t in (k, v):
                t.set_ragged_offset(ok)
            pack |= {lengths: self.lengths, oq: self.offset_q, ok: self.offset_k}
            extra = dict(use_padding_mask=True, seq_len_q=lengths, seq_len_kv=lengths)
        dq, dk, dv = graph.sdpa_backward(
            name="back",
            q=q,
            k=k,
            v=v,
            o=o,
            dO=do,
            stats=stats,
            attn_scale=self.d**-0.5,
            use_causal_mask=True,
            use_deterministic_algorithm=self.deterministic,
            **extra,
        )
        for t, heads, offset in ((dq, self.h, "oq"), (dk, self.k, "ok"), (dv, self.k, "ok")):
            s, d = self.s, self.d
            t.set_output(True).set_dim([self.b, heads, s, d]).set_stride([s * heads * d, d, heads * d, 1])
            if self.ragged:
                t.set_ragged_offset(oq if offset == "oq" else ok)
        pack |= {dq: self.dq, dk: self.dk, dv: self.dv}
        self._build(graph)
        return graph, pack

    def _build(self, graph) -> None:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.check_support()
        graph.build_plans()

    def forward(self) -> None:
        cudnn.set_stream(handle=self.handle, stream=torch.cuda.current_stream().cuda_stream)
        self.forward_graph.execute(self.forward_pack, self.workspace, handle=self.handle)

    def backward(self) -> None:
        cudnn.set_stream(handle=self.handle, stream=torch.cuda.current_stream().cuda_stream)
        self.backward_graph.execute(self.backward_pack, self.workspace, handle=self.handle)


def attention() -> None:
    heading("attention: cuDNN front end, causal, our buffers")
    b, h, k, d = 2, 32, 8, 128
    for s in (2048, 8192):
        flops = 4 * b * h * s * s * d / 2
        for ragged in (False, True):
            for deterministic in (False, True):
                name = (
                    f"s={s} {'ragged' if ragged else 'dense '} {'deterministic' if deterministic else 'fast         '}"
                )
                try:
                    a = Attention(b, s, h, k, d, ragged=ragged, deterministic=deterministic)
                    f, g = milliseconds(a.forward), milliseconds(a.backward)
                    a.forward()
                    a.backward()
                    first = [t.clone() for t in (a.o, a.dq, a.dk, a.dv)]
                    same = True
                    for _ in range(5):
                        a.forward()
                        a.backward()
                        same &= all(torch.equal(x, y) for x, y in zip(first, (a.o, a.dq, a.dk, a.dv), strict=True))
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        a.forward()
                        a.backward()
                    a.dq.fill_(float("nan"))
                    graph.replay()
                    torch.cuda.synchronize()
                    captured = torch.equal(a.dq, first[1]) or not torch.isnan(a.dq).any().item()
                    print(
                        f"{name}: forward {flops / f / 1e9:.0f} TFLOP/s backward {2.5 * flops / g / 1e9:.0f} TFLOP/s "
                        f"workspace {a.workspace.numel() / MIB:.0f} MiB repeats {same} captured {captured}",
                        flush=True,
                    )
                    del a, graph, first
                    torch.cuda.empty_cache()
                except Exception as error:
                    print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)


def gemm() -> None:
    heading("GEMM: bf16 → bf16 and fp32 accumulation in place")
    for name, (m, n, k) in {
        "8B qkv": (4096, 6144, 4096),
        "8B gate+up": (4096, 24576, 4096),
        "8B down": (4096, 4096, 12288),
        "8B head chunk": (4096, 151936, 4096),
        "0.6B qkv": (4096, 4096, 1024),
        "0.6B gate+up": (4096, 6144, 1024),
        "lora A 8B": (4096, 16, 4096),
        "lora A x3": (4096, 48, 4096),
        "lora B": (4096, 4096, 16),
        "lora B K=64": (4096, 4096, 64),
        "dA": (16, 4096, 4096),
        "dB": (4096, 16, 4096),
    }.items():
        a, w = torch.randn(m, k, device="cuda", dtype=BF16), torch.randn(n, k, device="cuda", dtype=BF16)
        out, acc = torch.empty(m, n, device="cuda", dtype=BF16), torch.zeros(m, n, device="cuda", dtype=F32)
        plain = milliseconds(lambda: torch.mm(a, w.t(), out=out))
        line = f"{name:14s} [{m},{n},{k}] bf16 {plain * 1e3:8.1f} us {2 * m * n * k / plain / 1e9:6.0f} TFLOP/s"
        for label, call in (
            ("addmm→fp32", lambda: torch.addmm(acc, a, w.t(), out_dtype=F32, out=acc)),
            ("addmm bf16", lambda: torch.addmm(out, a, w.t(), out=out)),
        ):
            try:
                t = milliseconds(call)
                line += f" | {label} {t * 1e3:8.1f} us"
            except Exception as error:
                line += f" | {label} {type(error).__name__} {str(error)[:60]}"
        print(line, flush=True)
        del a, w, out, acc


SOURCE = r"""
extern "C" __global__ void scale(float *x, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= f;
}
"""


def compile_cubin(source: str) -> bytes:
    sys.path.insert(0, ".")
    from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_size_t, c_void_p, create_string_buffer

    library = next(
        os.path.join(root, f)
        for base in (p for p in sys.path if "packages" in p)
        if os.path.isdir(base)
        for root, _, files in os.walk(base)
        for f in files
        if f.startswith("libnvrtc.so") and "alt" not in f
    )
    nvrtc = CDLL(library)
    program = c_void_p()
    nvrtc.nvrtcCreateProgram.argtypes = [POINTER(c_void_p), c_char_p, c_char_p, c_int, c_void_p, c_void_p]
    nvrtc.nvrtcCreateProgram(byref(program), source.encode(), b"k.cu", 0, None, None)
    options = (c_char_p * 1)(b"--gpu-architecture=sm_90")
    nvrtc.nvrtcCompileProgram.argtypes = [c_void_p, c_int, c_void_p]
    assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
    size = c_size_t()
    nvrtc.nvrtcGetCUBINSize(program, byref(size))
    code = create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, code)
    return code.raw


def capture() -> None:
    heading("one captured micro-step mixing PyCUDA kernels, GEMMs and cuDNN attention on a PyCUDA stream")
    cubin = compile_cubin(SOURCE)
    module = cuda.module_from_buffer(cubin)
    kernel = module.get_function("scale")
    kernel.prepare("Pfi")
    stream = cuda.Stream()
    outside = torch.cuda.ExternalStream(stream.handle)
    x = torch.ones(2**20, device="cuda")
    a, w = torch.randn(1024, 1024, device="cuda", dtype=BF16), torch.randn(1024, 1024, device="cuda", dtype=BF16)
    out = torch.empty(1024, 1024, device="cuda", dtype=BF16)
    attention_ = Attention(2, 1024, 8, 8, 128, ragged=False, deterministic=False)

    def micro() -> None:
        kernel.prepared_async_call((4096, 1), (256, 1, 1), stream, x.data_ptr(), 2.0, 2**20)
        torch.mm(a, w.t(), out=out)
        attention_.forward()
        attention_.backward()

    with torch.cuda.stream(outside):
        micro()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    before = process_bytes()
    with torch.cuda.graph(graph, stream=outside, capture_error_mode="thread_local"):
        for _ in range(300):
            micro()
    graph.replay()
    torch.cuda.synchronize()
    after = process_bytes()
    x.fill_(1.0)
    torch.cuda.synchronize()
    graph2 = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph2, stream=outside, capture_error_mode="thread_local"):
        micro()
    graph2.replay()
    torch.cuda.synchronize()
    print(
        f"x[0] after one replay: {x[0].item()} (2 expected); graph of 300 micro-steps costs {(after - before) / MIB:.0f} MiB"
    )
    start = time.perf_counter()
    for _ in range(1000):
        kernel.prepared_async_call((4096, 1), (256, 1, 1), stream, x.data_ptr(), 1.0, 2**20)
    host = time.perf_counter() - start
    torch.cuda.synchronize()
    print(
        f"host time of a prepared PyCUDA launch {host * 1e3:.1f} us; replay of 300 micro-steps {milliseconds(graph.replay, 5):.2f} ms"
    )


def main() -> None:
    free0 = None
    cuda.init()
    device = cuda.Device(0)
    context = device.retain_primary_context()
    context.push()
    heading("memory of the process by NVML, MiB, step by step")
    print(f"after primary context: {process_bytes() / MIB:.0f}")
    torch.cuda.init()
    t = torch.zeros(1, device="cuda")
    print(f"after torch init: {process_bytes() / MIB:.0f}  (torch reserved {torch.cuda.memory_reserved() / MIB:.0f})")
    a = torch.randn(4096, 4096, device="cuda", dtype=BF16)
    torch.mm(a, a)
    print(
        f"after one cuBLAS GEMM: {process_bytes() / MIB:.0f}  (torch reserved {torch.cuda.memory_reserved() / MIB:.0f})"
    )
    torch.addmm(t.new_zeros(4096, 4096), a, a, out_dtype=F32)
    print(
        f"after fp32 accumulation GEMM: {process_bytes() / MIB:.0f}  (torch reserved {torch.cuda.memory_reserved() / MIB:.0f})"
    )
    x = Attention(1, 256, 8, 8, 128, ragged=False, deterministic=False)
    x.forward()
    x.backward()
    torch.cuda.synchronize()
    print(
        f"after cuDNN attention: {process_bytes() / MIB:.0f}  (torch reserved {torch.cuda.memory_reserved() / MIB:.0f})"
    )
    print(
        "workspace setting:",
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        "torch",
        torch.__version__,
        "cuDNN",
        torch.backends.cudnn.version(),
        "backend",
        cudnn.backend_version(),
        "front end",
        cudnn.__version__,
        torch.cuda.get_device_name(0),
    )
    del x, a, t, free0
    for part in (attention, gemm, capture):
        try:
            part()
        except Exception:
            traceback.print_exc(limit=4)
    context.pop()


if __name__ == "__main__":
    main()
