"""cuDNN's front end as the engine would use it: causal attention forward and backward on buffers of ours.

Tensors are [B·S, heads, HD] row-major, as in the graph. Ragged: document lengths and element offsets on the device.
"""

from __future__ import annotations

from typing import Any  # cuDNN's Python objects have no types

import cudnn
import torch

BF16, F32, I32 = torch.bfloat16, torch.float32, torch.int32


class Attention:
    """One forward and one backward graph for B rows of S tokens, H heads and K kv-heads of width D."""

    def __init__(self, b: int, s: int, h: int, k: int, d: int, *, ragged: bool, deterministic: bool) -> None:
        self.b, self.s, self.h, self.k, self.d = b, s, h, k, d
        self.ragged, self.deterministic = ragged, deterministic
        self.handle = cudnn.create_handle()
        self.q, self.o_gradient = self._buffer(h), self._buffer(h)
        self.keys, self.values = self._buffer(k), self._buffer(k)
        self.o, self.dq = torch.empty_like(self.q), torch.empty_like(self.q)
        self.dk, self.dv = torch.empty_like(self.keys), torch.empty_like(self.values)
        self.lse = torch.empty(b, h, s, 1, device="cuda", dtype=F32)
        starts = torch.arange(b + 1, dtype=I32) * s
        self.lengths = torch.full((b, 1, 1, 1), s, device="cuda", dtype=I32)
        self.offsets = {heads: (starts * heads * d).cuda().view(b + 1, 1, 1, 1) for heads in {h, k}}
        self._forward = self._forward_graph()
        self._backward = self._backward_graph()
        size = max(graph.get_workspace_size() for graph, _ in (self._forward, self._backward))
        self.workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)

    def forward(self) -> None:
        """q, keys, values → o, lse on torch's current stream."""
        self._execute(*self._forward)

    def backward(self) -> None:
        """o_gradient → dq, dk, dv on torch's current stream."""
        self._execute(*self._backward)

    def gradients(self) -> tuple[torch.Tensor, ...]:
        return self.o, self.dq, self.dk, self.dv

    def _buffer(self, heads: int) -> torch.Tensor:
        return torch.randn(self.b * self.s, heads, self.d, device="cuda", dtype=BF16)

    def _execute(self, graph: Any, pack: dict[Any, torch.Tensor]) -> None:  # Any: see the import
        cudnn.set_stream(handle=self.handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute(pack, self.workspace, handle=self.handle)

    def _new(self) -> Any:  # Any: see the import
        return cudnn.pygraph(
            io_data_type=cudnn.data_type.BFLOAT16,
            intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT,
            handle=self.handle,
        )

    def _layout(self, heads: int) -> tuple[list[int], list[int]]:
        return [self.b, heads, self.s, self.d], [self.s * heads * self.d, self.d, heads * self.d, 1]

    def _tensor(self, graph: Any, name: str, heads: int) -> Any:  # Any: see the import
        dim, stride = self._layout(heads)
        return graph.tensor(name=name, dim=dim, stride=stride, data_type=cudnn.data_type.BFLOAT16)

    def _packing(
        self, graph: Any, pack: dict[Any, Any]
    ) -> tuple[dict[str, Any], dict[int, Any]]:  # Any: see the import
        """Options and per-width offsets for ragged rows; nothing where every row is full."""
        if not self.ragged:
            return {}, {}
        lengths = graph.tensor_like(self.lengths)
        offsets = {heads: graph.tensor_like(tensor) for heads, tensor in self.offsets.items()}
        pack[lengths] = self.lengths
        pack.update({offsets[heads]: self.offsets[heads] for heads in offsets})
        return {"use_padding_mask": True, "seq_len_q": lengths, "seq_len_kv": lengths}, offsets

    def _result(self, tensor: Any, heads: int, offsets: dict[int, Any]) -> None:  # Any: see the import
        dim, stride = self._layout(heads)
        tensor.set_output(True).set_dim(dim).set_stride(stride)
        if offsets:
            tensor.set_ragged_offset(offsets[heads])

    def _forward_graph(self) -> tuple[Any, dict[Any, torch.Tensor]]:  # Any: see the import
        graph = self._new()
        q, k, v = (self._tensor(graph, n, heads) for n, heads in (("q", self.h), ("k", self.k), ("v", self.k)))
        pack: dict[Any, torch.Tensor] = {q: self.q, k: self.keys, v: self.values}  # Any: see the import
        options, offsets = self._packing(graph, pack)
        for tensor, heads in ((q, self.h), (k, self.k), (v, self.k)):
            if offsets:
                tensor.set_ragged_offset(offsets[heads])
        scale = self.d**-0.5
        o, lse = graph.sdpa(q=q, k=k, v=v, is_inference=False, attn_scale=scale, use_causal_mask=True, **options)
        self._result(o, self.h, offsets)
        lse.set_output(True).set_data_type(cudnn.data_type.FLOAT)
        pack |= {o: self.o, lse: self.lse}
        return _built(graph), pack

    def _backward_graph(self) -> tuple[Any, dict[Any, torch.Tensor]]:  # Any: see the import
        graph = self._new()
        given = {"q": (self.h, self.q), "k": (self.k, self.keys), "v": (self.k, self.values), "o": (self.h, self.o)}
        given["do"] = (self.h, self.o_gradient)
        tensors = {name: self._tensor(graph, name, heads) for name, (heads, _) in given.items()}
        pack: dict[Any, torch.Tensor] = {tensors[n]: buffer for n, (_, buffer) in given.items()}  # Any: see the import
        lse = graph.tensor(
            name="lse",
            dim=[self.b, self.h, self.s, 1],
            stride=[self.h * self.s, self.s, 1, 1],
            data_type=cudnn.data_type.FLOAT,
        )
        pack[lse] = self.lse
        options, offsets = self._packing(graph, pack)
        for name, (heads, _) in given.items():
            if offsets:
                tensors[name].set_ragged_offset(offsets[heads])
        dq, dk, dv = graph.sdpa_backward(
            q=tensors["q"],
            k=tensors["k"],
            v=tensors["v"],
            o=tensors["o"],
            dO=tensors["do"],
            stats=lse,
            attn_scale=self.d**-0.5,
            use_causal_mask=True,
            use_deterministic_algorithm=self.deterministic,
            **options,
        )
        for tensor, heads in ((dq, self.h), (dk, self.k), (dv, self.k)):
            self._result(tensor, heads, offsets)
        return _built(graph), pack | {dq: self.dq, dk: self.dk, dv: self.dv}


def _built(graph: Any) -> Any:  # Any: see the import
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    graph.build_plans()
    return graph
