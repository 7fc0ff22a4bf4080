"""Products of LoRA's adapters into columns of packed outputs, and products that are added to what is there.

Segment i of n has the columns starts[i] … starts[i] + widths[i] − 1 of y, the columns i·R … (i + 1)·R − 1 of x, and its
widths[i] rows of weight [Σ widths, R], which lie one after the other.

linear_segments:                 y[:, segment] += factor · x[:, segment] · weight[segment]ᵀ, in place
linear_segments_input_backward:  dx[:, segment] = factor · dy[:, segment] · weight[segment]
linear_segments_weight_backward: dweight[segment] = factor · dy[:, segment]ᵀ · x[:, segment], in fp32
linear_input_backward_add:       dx += dy · weight, in place

For a library each segment is one product of matrices whose rows are as far apart as those of the packed tensors.
"""

from __future__ import annotations

from engine.graph.dims import Size, size
from engine.graph.graph import Attribute
from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, traffic
from engine.graph.types import DType, TensorType

FLOATS = (DType.F32, DType.BF16)


def _sizes(call: Call, name: str) -> tuple[Size, ...]:
    raw: Attribute = call.attribute(name)
    if not isinstance(raw, tuple) or not all(isinstance(each, (int, Size)) for each in raw):
        call.refuse(f"attribute '{name}' is {raw!r}, but must be a tuple of sizes")
    return tuple(size(each) for each in raw if isinstance(each, (int, Size)))


def _total(sizes: tuple[Size, ...]) -> Size:
    return sum(sizes, size(0))


def _check_segments(call: Call, packed: str) -> None:
    """Starts and widths: as many of each, and (once they are numbers) ascending within `packed` without overlap."""
    starts, widths = _sizes(call, "starts"), _sizes(call, "widths")
    _, columns = call.shape(packed, 2)
    call.expect_dtype(packed, *FLOATS)
    call.number("factor")
    if len(starts) != len(widths) or not starts:
        call.refuse(f"there are {len(starts)} starts and {len(widths)} widths")
    if any(each.letters for each in (*starts, *widths, columns)):
        return
    ends = [(start + width).evaluate({}) for start, width in zip(starts, widths, strict=True)]
    begins = [start.evaluate({}) for start in starts]
    if begins[0] < 0 or ends[-1] > columns.evaluate({}) or any(b < a for a, b in zip(ends, begins[1:], strict=False)):
        spans = ", ".join(f"{a}…{b}" for a, b in zip(begins, ends, strict=True))
        call.refuse(f"the segments {spans} do not lie one after the other in the {columns} columns of '{packed}'")


def _check_weight(call: Call, packed: str) -> None:
    call.expect_shape("weight", (_total(_sizes(call, "widths")), call.size("rank")), "widths and rank")
    call.expect_dtype("weight", call[packed].dtype)


def _narrow(call: Call, packed: str) -> TensorType:
    """The type of x: rank columns a segment."""
    columns = call.size("rank") * len(_sizes(call, "widths"))
    return TensorType((call[packed].shape[0], columns), call[packed].dtype)


def _expect_narrow(call: Call, packed: str) -> None:
    call.expect_shape("x", _narrow(call, packed).shape, f"operand '{packed}' {call[packed]} and rank")
    call.expect_dtype("x", call[packed].dtype)


def _infer_segments(call: Call) -> Types:
    _check_segments(call, "y")
    _check_weight(call, "y")
    _expect_narrow(call, "y")
    return (call["y"],)


def _differentiate_segments(back: Backward) -> Gradients:
    _, x, weight = back.node.inputs
    dy, b, attributes = back.upstream(), back.builder, back.node.attributes
    dx = b.one("linear_segments_input_backward", dy, weight, **attributes) if back.wanted[1] else None
    dweight = b.one("linear_segments_weight_backward", dy, x, **attributes) if back.wanted[2] else None
    return dy if back.wanted[0] else None, dx, dweight


def _infer_input_backward(call: Call) -> Types:
    _check_segments(call, "dy")
    _check_weight(call, "dy")
    return (_narrow(call, "dy"),)


def _infer_weight_backward(call: Call) -> Types:
    _check_segments(call, "dy")
    _expect_narrow(call, "dy")
    return (TensorType((_total(_sizes(call, "widths")), call.size("rank")), DType.F32),)


def _cost(call: Call, results: Types) -> Cost:
    """Of the packed operand only the segments' columns are moved, twice where they are updated."""
    packed = "y" if "y" in call.operands else "dy"
    widths, moved = _total(_sizes(call, "widths")), traffic(call, results)
    touched = call[packed].shape[0] * widths * call[packed].dtype.bytes
    passes = 2 if packed == "y" else 1
    moved = moved - call[packed].bytes * passes + touched * passes
    return Cost(call[packed].shape[0] * widths * call.size("rank") * 2, moved)


def _infer_add(call: Call) -> Types:
    tokens, outputs = call.shape("dy", 2)
    _, inputs = call.shape("weight", 2)
    call.expect_dtype("dx", *FLOATS)
    call.expect_shape("weight", (outputs, inputs), f"operand 'dy' {call['dy']}")
    call.expect_shape("dx", (tokens, inputs), f"operand 'weight' {call['weight']}")
    call.expect_dtype("dy", call["dx"].dtype)
    call.expect_dtype("weight", call["dx"].dtype)
    return (call["dx"],)


def _cost_add(call: Call, results: Types) -> Cost:
    return Cost(results[0].elements * call["dy"].shape[1] * 2, traffic(call, results))


SPECS = (
    OpSpec("linear_segments", ("y", "x", "weight"), ("y",), _infer_segments, _cost, _differentiate_segments, {0: 0}),
    OpSpec("linear_segments_input_backward", ("dy", "weight"), ("dx",), _infer_input_backward, _cost),
    OpSpec("linear_segments_weight_backward", ("dy", "x"), ("dweight",), _infer_weight_backward, _cost),
    OpSpec("linear_input_backward_add", ("dx", "dy", "weight"), ("dx",), _infer_add, _cost_add, updates={0: 0}),
)
