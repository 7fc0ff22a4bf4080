from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.graph.autodiff import differentiate
from engine.graph.errors import GraphError
from engine.graph.graph import Graph
from engine.graph.rewrites.accumulate import with_accumulation
from engine.graph.rewrites.generation import with_cache
from engine.graph.rewrites.head import for_evaluation, for_generation, for_training
from engine.graph.rewrites.lora import LoraOptions, attach_lora, is_adapter, lora_targets
from engine.graph.rewrites.precision import with_precision
from engine.graph.rewrites.recompute import keep_inputs, recompute
from engine.graph.rewrites.replay import replay
from engine.graph.types import DType
from engine.graph.verify import verify_graph
from engine.models.registry import build_model
from engine.protocol.errors import SurroundingsError
from tests.helpers.finite_differences import check_gradients, gradients_of
from tests.helpers.numpy_formulas import Array
from tests.helpers.numpy_graph import random_inputs, run_graph
from tests.helpers.tiny_models import QWEN3

MODEL = build_model({**QWEN3, "hidden_size": 8, "intermediate_size": 10, "head_dim": 4})
BLOCK = MODEL.blocks["block"]
DIMS = {**MODEL.dims, "N": 6, "T": 6, "M": 2, "R": 3, "layer": 1, "C": 8}
LORA = LoraOptions(rank=3, alpha=6.0, targets=("q_proj", "down_proj"), dropout=0.3)
OUT = BLOCK.outputs[0].name


def inputs_of(graph: Graph) -> dict[str, Array]:
    scaled = {name: array * 0.5 for name, array in random_inputs(graph, DIMS, 0).items()}
    fixed = {
        "input/positions": np.array([0, 1, 2, 3, 0, 1]),
        "input/documents": np.array([0, 4, 6]),
        "input/step_state": np.array([7, 3, 0, 0]),
    }
    return {**scaled, **fixed}


def adapters(graph: Graph) -> list[str]:
    return [parameter.name for parameter in graph.parameters if is_adapter(parameter.name)]


def test_a_whole_block_agrees_with_finite_differences() -> None:
    wrt = ["x", *(parameter.name for parameter in BLOCK.parameters)]
    check_gradients(BLOCK, wrt, inputs_of(BLOCK), DIMS, seeds=(OUT,))


def test_lora_adds_the_low_rank_product_and_nothing_else() -> None:
    adapted = attach_lora(BLOCK, replace(LORA, dropout=0.0))
    verify_graph(adapted)
    given = inputs_of(adapted)
    names = adapters(adapted)
    assert names == [
        "self_attn.q_proj.lora_A.weight",
        "self_attn.q_proj.lora_B.weight",
        "mlp.down_proj.lora_A.weight",
        "mlp.down_proj.lora_B.weight",
    ]
    merged = dict(given)
    for module in ("self_attn.q_proj", "mlp.down_proj"):
        low, high = given[f"{module}.lora_A.weight"], given[f"{module}.lora_B.weight"]
        merged[f"{module}.weight"] = given[f"{module}.weight"] + 2.0 * high @ low
    found = run_graph(adapted, given, DIMS)[adapted.outputs[0].name]
    np.testing.assert_allclose(found, run_graph(BLOCK, merged, DIMS)[OUT], rtol=1e-12, atol=1e-12)


def test_lora_with_dropout_differentiates_by_the_adapters_alone() -> None:
    adapted = attach_lora(BLOCK, LORA)
    derivative = check_gradients(adapted, adapters(adapted), inputs_of(adapted), DIMS, seeds=(adapted.outputs[0].name,))
    weight_gradients = [node for node in derivative.backward.nodes if node.op == "linear_weight_backward"]
    assert len(weight_gradients) == len(adapters(adapted))
    assert not any(node.op == "rms_norm_weight_backward" for node in derivative.backward.nodes)
    purposes = [node.attributes["purpose"] for node in adapted.nodes if node.op == "dropout"]
    assert len(set(purposes)) == len(purposes) == 2
    assert not any(node.op == "dropout" for node in attach_lora(BLOCK, LORA, training=False).nodes)


def test_the_mask_of_a_target_does_not_depend_on_the_other_targets() -> None:
    def purposes(*targets: str) -> list[object]:
        graph = attach_lora(BLOCK, replace(LORA, targets=targets))
        return [node.attributes["purpose"] for node in graph.nodes if node.op == "dropout"]

    assert purposes("q_proj", "down_proj")[-1:] == purposes("down_proj")


def test_unknown_targets_are_named_and_scaling_follows_the_options() -> None:
    assert lora_targets(BLOCK) == ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    with pytest.raises(SurroundingsError, match="does not have: w_pack") as caught:
        attach_lora(BLOCK, replace(LORA, targets=("q_proj", "w_pack")))
    assert caught.value.remedy.startswith("Choose among q_proj, k_proj")
    with pytest.raises(SurroundingsError):
        attach_lora(BLOCK, replace(LORA, targets=()))
    assert LORA.factor == 2.0
    assert replace(LORA, rank=4, rank_stabilised=True).factor == 3.0


def test_recompute_saves_inputs_only_and_gives_the_same_bits() -> None:
    adapted = attach_lora(BLOCK, LORA)
    out = adapted.outputs[0].name
    plain = differentiate(adapted, ["x", *adapters(adapted)], seeds=(out,))
    again = recompute(plain, keep_inputs(adapted))
    assert {value.name for value in again.saved} <= {value.name for value in adapted.inputs}
    assert len(plain.saved) > 10
    given = inputs_of(adapted)
    upstream = {out: np.random.default_rng(1).standard_normal((6, 8))}
    expected, found = gradients_of(plain, given, upstream, DIMS), gradients_of(again, given, upstream, DIMS)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_recompute_clones_no_more_than_it_must() -> None:
    plain = differentiate(BLOCK, ["x"], seeds=(OUT,))
    again = recompute(plain, keep_inputs(BLOCK))
    clones = [node for node in again.backward.nodes if node.outputs[0].name.startswith("recompute/")]
    assert [node.op for node in clones if node.op == "attention"] == ["attention"]
    assert sum(node.op == "linear" for node in clones) == 6  # all but down_proj, whose result nobody saves
    assert "swiglu" not in [node.op for node in clones]  # of use to down_proj's weight gradient alone
    attention = next(node for node in BLOCK.nodes if node.op == "attention")
    partly = recompute(plain, {*keep_inputs(BLOCK), *attention.outputs})
    assert "attention" not in [node.op for node in partly.backward.nodes]
    assert recompute(plain, plain.saved) is plain


def test_accumulation_follows_its_gradient_at_once() -> None:
    plain = differentiate(BLOCK, ["x", "mlp.up_proj.weight"], seeds=(OUT,))
    graph = with_accumulation(plain, ["mlp.up_proj.weight"])
    verify_graph(graph)
    ops = [node.op for node in graph.nodes]
    assert ops[ops.index("linear_weight_backward") + 1] == "accumulate"
    assert graph.outputs == (plain.gradients["x"],)


def test_precision_changes_weights_and_activations_but_not_statistics() -> None:
    lowered = with_precision(BLOCK, DType.BF16)
    verify_graph(lowered)
    assert all(parameter.value.type.dtype is DType.BF16 for parameter in lowered.parameters)
    kinds = {value.name.rsplit(".", 1)[-1]: value.type.dtype for node in lowered.nodes for value in node.outputs}
    assert (kinds["rstd"], kinds["lse"], kinds["o"]) == (DType.F32, DType.F32, DType.BF16)
    verify_graph(with_precision(MODEL.head, DType.BF16))
    assert with_precision(BLOCK, DType.F32) is BLOCK


def test_the_head_has_three_lives() -> None:
    frozen = for_training(MODEL.head, weight_gradient=False)
    loss = frozen.outputs[0].name
    assert len(frozen.nodes[-1].outputs) == 3
    with pytest.raises(GraphError, match="gradient is wanted but not computed"):
        differentiate(frozen, ["model.embed_tokens.weight"], loss=loss)
    evaluation = for_evaluation(MODEL.head)
    assert [value.name for value in evaluation.outputs] == [loss, MODEL.head.outputs[1].name, "correct"]
    for select in (True, False):
        generation = for_generation(with_precision(MODEL.head, DType.BF16), select=select)
        verify_graph(generation)
        (logits,) = generation.outputs
        assert logits.type.dtype is DType.F32
        assert ("input/last_row" in [value.name for value in generation.inputs]) is select
        assert "input/targets" not in [value.name for value in generation.inputs]


def test_the_cache_takes_the_place_of_documents() -> None:
    cached = with_cache(BLOCK)
    verify_graph(cached)
    names = [value.name for value in cached.inputs]
    assert names == ["x", "input/positions", "k_cache", "v_cache", "input/cache_length"]
    with pytest.raises(GraphError, match="does not have exactly one attention"):
        with_cache(MODEL.head)


def test_replay_without_changes_is_the_identity() -> None:
    assert replay(BLOCK) == BLOCK
