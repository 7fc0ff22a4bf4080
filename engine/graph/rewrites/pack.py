"""Projections that read the same values become one: q, k, v into packed rows, gate and up side by side.

    q, k, v = linear(h, …) [+ bias] [→ norm of heads] → rope → attention   becomes
    qkv = linear(h, [Wq; Wk; Wv]) [+ bias] → rope_packed or qk_norm_rope → attention_packed;
    swiglu(linear(h, Wg), linear(h, Wu)) becomes swiglu_packed(linear(h, [Wg; Wu])).

Parameters keep their names: a grouped one lists its parts (`Parameter.parts`), and what is stored is rows of it.
This comes before adapters and precision; `grouped_lora` adapts what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from engine.graph.builder import Builder
from engine.graph.dims import size
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Node, Parameter, Part, Value
from engine.graph.rewrites.replay import replay
from engine.graph.types import TensorType

OPTIONAL = ("bias_add", "rms_norm")
QUERY = KEY = ("rope", "rms_norm", "reshape", "bias_add", "linear")
VALUE = ("reshape", "bias_add", "linear")
HALF = ("bias_add", "linear")

Branch = Mapping[str, Node]  # op → the node of it on the way from a projection
Parts = Sequence[Parameter]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Branches that meet in `meeting`. Each begins with a linear of the same value."""

    meeting: Node
    branches: tuple[Branch, ...]

    def operands(self, op: str) -> tuple[Value, ...]:
        """The second operand of `op` (weight, bias, positions) of each branch that has one."""
        return tuple(branch[op].inputs[1] for branch in self.branches if op in branch)

    @property
    def nodes(self) -> set[Node]:
        return {node for branch in self.branches for node in branch.values()}


def pack(graph: Graph) -> Graph:
    """`graph` with all its attentions and gated activations packed. GraphError where one of them cannot be."""
    found = {node: _pattern(graph, node) for node in graph.nodes if node.op in ("attention", "swiglu")}
    inside = {node for pattern in found.values() for node in pattern.nodes}
    parameters = {parameter.value: parameter for parameter in graph.parameters}

    def visit(b: Builder, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node in inside:  # passes on what its branch began with, until the branches meet
            return (inputs[0],) * len(node.outputs)
        if node not in found:
            return None
        emit = _attention if node.op == "attention" else _swiglu
        return emit(b, found[node], inputs[0], lambda values: [parameters[value] for value in values])

    return replay(graph, visit, prefix="packed/")


def stacked(b: Builder, name: str, parts: Parts) -> Value:
    """A grouped parameter called `name` of these, by their rows; the parameter itself where it is one alone."""
    first = parts[0].value.type
    if len(parts) == 1:
        b.parameters.append(parts[0])
        return parts[0].value
    rows = sum((part.value.type.shape[0] for part in parts), size(0))
    if len({(part.value.type.shape[1:], part.value.type.dtype, part.decay) for part in parts}) != 1:
        names = ", ".join(part.name for part in parts)
        raise GraphError("graph.not_packable", f"parameters {names} differ in more than their rows")
    value = Value(name, TensorType((rows, *first.shape[1:]), first.dtype))
    named = tuple(Part(part.name, part.value.type.shape[0]) for part in parts)
    b.parameters.append(Parameter(value, parts[0].decay, named))
    return value


Lookup = Callable[[tuple[Value, ...]], Parts]


def _projected(b: Builder, pattern: _Pattern, x: Value, name: str, parameters: Lookup) -> Value:
    weights, biases = parameters(pattern.operands("linear")), parameters(pattern.operands("bias_add"))
    module = f"{weights[0].name.rpartition('.weight')[0].rpartition('.')[0]}.{name}"
    bias = stacked(b, f"{module}.bias", biases) if biases else None
    return b.linear(x, stacked(b, f"{module}.weight", weights), bias)


def _attention(b: Builder, pattern: _Pattern, x: Value, parameters: Lookup) -> tuple[Value, ...]:
    node = pattern.meeting
    tokens, heads, head_dim = node.inputs[0].type.shape
    sizes = {"heads": heads, "kv_heads": node.inputs[1].type.shape[1], "head_dim": head_dim}
    qkv = _projected(b, pattern, x, "qkv_proj", parameters)
    rope = pattern.branches[0]["rope"]
    rotation = {name: value for name, value in rope.attributes.items() if name != "inverse"}
    table, norms = b.one("rope_table", rope.inputs[1], **rotation), pattern.operands("rms_norm")
    if norms:
        eps = pattern.branches[0]["rms_norm"].attributes["eps"]
        qk, qkv = b.emit("qk_norm_rope", qkv, *norms, table, eps=eps, **sizes)
    else:
        qk = qkv = b.one("rope_packed", qkv, table, inverse=rope.attributes["inverse"], **sizes)
    o, lse = b.emit("attention_packed", qk, qkv, node.inputs[3], **node.attributes, **sizes)
    return b.reshape(o, [tokens, heads, head_dim]), lse


def _swiglu(b: Builder, pattern: _Pattern, x: Value, parameters: Lookup) -> tuple[Value, ...]:
    gate_up = _projected(b, pattern, x, "gate_up_proj", parameters)
    return (b.one("swiglu_packed", gate_up, width=pattern.meeting.outputs[0].type.shape[1]),)


def _pattern(graph: Graph, meeting: Node) -> _Pattern:
    producers = graph.producers()
    ways = (QUERY, KEY, VALUE) if meeting.op == "attention" else (HALF, HALF)
    branches = tuple(_branch(producers, value, way, meeting) for value, way in zip(meeting.inputs, ways, strict=False))
    pattern = _Pattern(meeting, branches)
    if len({branch["linear"].inputs[0] for branch in branches}) != 1:
        _refuse(meeting, "its projections read different values")
    if len(pattern.operands("bias_add")) not in (0, len(branches)):
        _refuse(meeting, "some of its projections have a bias and some have none")
    if meeting.op == "attention":
        _check_alike(pattern)
    for node in graph.nodes:
        if node not in pattern.nodes and node != meeting and set(node.inputs) & _made(pattern):
            _refuse(meeting, f"{node.name} reads what lies between it and its projections")
    return pattern


def _branch(producers: Mapping[Value, Node], value: Value, way: Sequence[str], meeting: Node) -> Branch:
    """The nodes of a branch from where it meets others back to its projection, optional ones left out."""
    found: dict[str, Node] = {}
    for op in way:
        node = producers.get(value)
        if node is not None and node.op == op:
            found[op] = node
            value = node.inputs[0]
        elif op not in OPTIONAL:
            _refuse(meeting, f"'{value.name}' is not the result of {op}")
    return found


def _check_alike(pattern: _Pattern) -> None:
    q, k, _ = pattern.branches
    rotations = [(node.inputs[1], dict(node.attributes)) for node in (q["rope"], k["rope"])]
    norms = [dict(branch["rms_norm"].attributes) if "rms_norm" in branch else None for branch in (q, k)]
    if rotations[0] != rotations[1] or norms[0] != norms[1]:
        _refuse(pattern.meeting, "q and k are not normed and rotated alike")


def _made(pattern: _Pattern) -> set[Value]:
    return {value for node in pattern.nodes for value in node.outputs}


def _refuse(meeting: Node, why: str) -> NoReturn:
    raise GraphError("graph.not_packable", f"{meeting.name} cannot be packed: {why}")
