"""The language in which models and backward rules are written.

Every call checks its operands at once (`OpSpec.infer`), so a graph that was built is well typed by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from engine.graph.catalogue import CATALOGUE, Catalogue, spec_of
from engine.graph.dims import CHUNK, SizeLike, T, size
from engine.graph.errors import GraphError
from engine.graph.graph import Attribute, Attributes, Graph, Node, Parameter, Value
from engine.graph.types import DType, tensor_type


class Builder:
    """Collects the nodes of one graph. `prefix` is put before the names of values that it makes up."""

    def __init__(self, name: str, catalogue: Catalogue = CATALOGUE, prefix: str = "") -> None:
        self.name = name
        self.catalogue = catalogue
        self.prefix = prefix
        self.inputs: list[Value] = []
        self.parameters: list[Parameter] = []
        self.nodes: list[Node] = []
        self._made: dict[str, int] = {}

    def input(self, name: str, shape: Sequence[SizeLike], dtype: DType = DType.F32) -> Value:
        """A value handed in. A name under `input/` is the schedule's tensor of that name."""
        value = Value(name, tensor_type(shape, dtype))
        self.inputs.append(value)
        return value

    def weight(self, name: str, shape: Sequence[SizeLike], *, decay: bool = True, dtype: DType = DType.F32) -> Value:
        """A parameter, by the name it has in the checkpoint (within the layer, inside a block)."""
        value = Value(name, tensor_type(shape, dtype))
        self.parameters.append(Parameter(value, decay))
        return value

    def node(
        self, op: str, inputs: tuple[Value, ...], attributes: Attributes, names: tuple[str, ...] | None = None
    ) -> tuple[Value, ...]:
        """One node; its results, called `names` or else after the op. GraphError where the operands are illegal."""
        spec = spec_of(op, self.catalogue)
        try:
            types = spec.infer(spec.call(tuple(value.type for value in inputs), attributes))
        except GraphError as error:
            operands = ", ".join(value.name for value in inputs)
            raise GraphError(error.code, error.message, where=f"{self.name}: {op}({operands})") from error
        if names is None:
            names = self._names(op, spec.results[: len(types)])
        outputs = tuple(Value(name, each) for name, each in zip(names, types, strict=True))
        self.nodes.append(Node(op, inputs, outputs, MappingProxyType(dict(attributes))))
        return outputs

    def emit(self, op: str, *inputs: Value, **attributes: Attribute) -> tuple[Value, ...]:
        """`node`, written as a call."""
        return self.node(op, inputs, attributes)

    def one(self, op: str, *inputs: Value, **attributes: Attribute) -> Value:
        """`emit` of an op with one result."""
        (value,) = self.node(op, inputs, attributes)
        return value

    def finish(self, *outputs: Value) -> Graph:
        """The graph of everything emitted so far."""
        return Graph(self.name, tuple(self.inputs), tuple(self.parameters), tuple(self.nodes), outputs)

    def _names(self, op: str, results: tuple[str, ...]) -> tuple[str, ...]:
        count = self._made[op] = self._made.get(op, 0) + 1
        stem = f"{self.prefix}{op}.{count}"
        return (stem,) if len(results) == 1 else tuple(f"{stem}.{result}" for result in results)

    # The words that architecture files are written in.

    def embedding(self, ids: Value, weight: Value) -> Value:
        return self.one("embedding", ids, weight)

    def rms_norm(self, x: Value, weight: Value, *, eps: float) -> Value:
        y, _ = self.emit("rms_norm", x, weight, eps=eps)
        return y

    def linear(self, x: Value, weight: Value, bias: Value | None = None) -> Value:
        y = self.one("linear", x, weight)
        return y if bias is None else self.one("bias_add", y, bias)

    def reshape(self, x: Value, shape: Sequence[SizeLike]) -> Value:
        return self.one("reshape", x, shape=tuple(size(each) for each in shape))

    def rope(self, x: Value, positions: Value, inverse_frequencies: tuple[float, ...], scaling: float = 1.0) -> Value:
        return self.one(
            "rope",
            x,
            positions,
            inverse_frequencies=inverse_frequencies,
            attention_scaling=scaling,
            inverse=False,
        )

    def attention(
        self,
        q: Value,
        k: Value,
        v: Value,
        documents: Value,
        *,
        scale: float,
        causal: bool = True,
        window: int | None = None,
    ) -> Value:
        o, _ = self.emit("attention", q, k, v, documents, causal=causal, window=window, scale=scale, longest=T)
        return o

    def add(self, x: Value, y: Value) -> Value:
        return self.one("add", x, y)

    def scale(self, x: Value, factor: float) -> Value:
        return self.one("scale", x, factor=factor)

    def swiglu(self, gate: Value, up: Value) -> Value:
        return self.one("swiglu", gate, up)

    def dropout(self, x: Value, step_state: Value, *, probability: float, purpose: int, layer: SizeLike) -> Value:
        return self.one("dropout", x, step_state, probability=probability, purpose=purpose, layer=layer)

    def head_loss(self, h: Value, weight: Value, targets: Value, loss_weights: Value) -> tuple[Value, Value]:
        """(sum of weighted losses, sum of weights)."""
        loss_sum, weight_sum, *_ = self.emit(
            "head_loss", h, weight, targets, loss_weights, chunk_tokens=CHUNK, weight_gradient=True
        )
        return loss_sum, weight_sum
