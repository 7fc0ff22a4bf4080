"""The head: linear + cross-entropy as one op, in chunks of tokens, so that logits never exist whole.

    z = h · weightᵀ;  nll[n] = logsumexp(z[n]) − z[n, targets[n]]
    loss_sum = Σ loss_weights[n] · nll[n];  weight_sum = Σ loss_weights[n]     (fp32, in ascending n)
    dh[n] = loss_weights[n] · (softmax(z[n]) − onehot(targets[n])) · weight;   dweight = Σ … ᵀ h (only if asked for)

A token of loss weight zero has no influence at all (its target may be anything, −100 too). The gradient is the one of
loss_sum, so it is exact under accumulation: the optimizer divides once by the weights of the whole step.

head_loss          what models write; `weight_gradient` is set by the training rewrite when the weight is trained
head_loss_forward  what evaluation runs: no gradients; correct = Σ of loss weights whose target is the largest logit

Workspace: one chunk of fp32 logits [chunk_tokens, V], turned into their gradient in place.
"""

from __future__ import annotations

from engine.graph.dims import Size, size
from engine.graph.errors import GraphError
from engine.graph.opspec import Backward, Call, Cost, Gradients, OpSpec, Types, traffic
from engine.graph.types import DType, TensorType

SCALAR = TensorType((size(1),), DType.F32)


def _check(call: Call) -> None:
    tokens, hidden = call.shape("h", 2)
    vocabulary, _ = call.shape("weight", 2)
    call.expect_dtype("h", DType.F32, DType.BF16)
    call.expect_shape("weight", (vocabulary, hidden), f"operand 'h' {call['h']}")
    call.expect_dtype("weight", call["h"].dtype)
    for operand, dtype in (("targets", DType.I32), ("loss_weights", DType.F32)):
        call.expect_shape(operand, (tokens,), f"operand 'h' {call['h']}")
        call.expect_dtype(operand, dtype)
    call.size("chunk_tokens")


def _infer_head_loss(call: Call) -> Types:
    _check(call)
    dweight = (TensorType(call["weight"].shape, DType.F32),) if call.flag("weight_gradient") else ()
    return SCALAR, SCALAR, call["h"], *dweight


def _infer_head_loss_forward(call: Call) -> Types:
    _check(call)
    return SCALAR, SCALAR, SCALAR


def _differentiate_head_loss(back: Backward) -> Gradients:
    """The gradients were made on the way forward; the loss itself is where differentiation starts."""
    dh = back.node.outputs[2] if back.wanted[0] else None
    if not back.wanted[1]:
        return dh, None, None, None
    if not back.node.attributes["weight_gradient"]:
        raise GraphError("graph.no_gradient", f"{back.node.name}: the weight's gradient is wanted but not computed")
    return dh, back.node.outputs[3], None, None


def _logits(call: Call) -> Size:
    return call["h"].elements * call["weight"].shape[0]


def _cost_head_loss(call: Call, results: Types) -> Cost:
    products = 3 if call.flag("weight_gradient") else 2
    return Cost(_logits(call) * 2 * products, traffic(call, results))


def _cost_head_loss_forward(call: Call, results: Types) -> Cost:
    return Cost(_logits(call) * 2, traffic(call, results))


def _workspace(call: Call) -> Size:
    return call.size("chunk_tokens") * call["weight"].shape[0] * DType.F32.bytes


OPERANDS = ("h", "weight", "targets", "loss_weights")

SPECS = (
    OpSpec(
        "head_loss",
        OPERANDS,
        ("loss_sum", "weight_sum", "dh", "dweight"),
        _infer_head_loss,
        _cost_head_loss,
        _differentiate_head_loss,
        workspace=_workspace,
    ),
    OpSpec(
        "head_loss_forward",
        OPERANDS,
        ("loss_sum", "weight_sum", "correct"),
        _infer_head_loss_forward,
        _cost_head_loss_forward,
        workspace=_workspace,
    ),
)
