"""Grouped projections: which patterns are packed, what becomes of parameters and adapters, how many calls are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from engine.graph.autodiff import differentiate
from engine.graph.builder import Builder
from engine.graph.costs import instruction_cost
from engine.graph.dims import HD, D, F, H, K, M, N, Size
from engine.graph.errors import GraphError
from engine.graph.graph import Graph, Value
from engine.graph.lifetimes import live_bytes
from engine.graph.options import Recompute
from engine.graph.rewrites.grouped_lora import attach_grouped_lora
from engine.graph.rewrites.lora import LoraOptions, attach_lora, lora_targets
from engine.graph.rewrites.pack import pack
from engine.graph.schedule import Schedule, Tensor
from engine.graph.types import DType
from engine.graph.verify import verify_graph
from engine.graph.verify_schedule import verify_schedule
from engine.models.registry import build_model
from engine.protocol.errors import SurroundingsError
from tests.helpers.schedules import first_fit, tiny_schedule
from tests.helpers.tiny_models import LLAMA, QWEN3

ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
LORA = LoraOptions(rank=4, alpha=8.0, targets=ALL)
BIASED = {**LLAMA, "attention_bias": True, "mlp_bias": True}
Config = Mapping[str, object]
MIXED = {**QWEN3, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}


def counts(config: Config, lora: LoraOptions | None, *, fused: bool) -> tuple[int, int]:
    """(instructions, products of matrices) of one layer between others, forward and backward."""

    def of(layers: int) -> tuple[int, int]:
        schedule = tiny_schedule({**config, "num_hidden_layers": layers}, lora=lora, fused=fused)
        calls = schedule.programs["train_micro"].instructions
        segments = [call.attributes["starts"] for call in calls if call.op.startswith("linear_segments")]
        products = sum(call.op.startswith("linear") for call in calls)
        return len(calls), products + sum(len(each) - 1 for each in segments if isinstance(each, tuple))

    (calls, products), (fewer, less) = of(4), of(3)
    return calls - fewer, products - less


@pytest.mark.parametrize(
    ("config", "lora", "plain", "fused"),
    [
        (LLAMA, LORA, (117, 56), (50, 41)),
        (QWEN3, LORA, (121, 56), (50, 41)),
        (QWEN3, replace(LORA, dropout=0.1), (135, 56), (91, 50)),
        (LLAMA, None, (51, 21), (28, 12)),
        (QWEN3, None, (59, 21), (30, 12)),
    ],
    ids=["llama-lora", "qwen3-lora", "qwen3-lora-dropout", "llama-full", "qwen3-full"],
)
def test_calls_a_layer(
    config: Config, lora: LoraOptions | None, plain: tuple[int, int], fused: tuple[int, int]
) -> None:
    """Forward 4 products with weights, 4 with A, 7 with B; backward 4, 4 and 7, and 4 + 7 weight gradients: 41."""
    assert counts(config, lora, fused=False) == plain
    assert counts(config, lora, fused=True) == fused


@pytest.mark.parametrize(
    ("config", "lora", "recompute", "precision"),
    list(
        product(
            (LLAMA, BIASED, QWEN3, MIXED),
            (None, LORA, replace(LORA, dropout=0.1)),
            Recompute,
            (DType.F32, DType.BF16),
        )
    ),
)
def test_every_combination_is_legal_and_fits_an_arena(
    config: Config, lora: LoraOptions | None, recompute: Recompute, precision: DType
) -> None:
    schedule, again = (
        tiny_schedule(config, lora=lora, recompute=recompute, precision=precision, fused=True) for _ in range(2)
    )
    verify_schedule(schedule, first_fit(schedule))
    assert schedule == again


@pytest.mark.parametrize("lora", [None, LORA, replace(LORA, targets=("v_proj", "gate_proj", "down_proj"))])
@pytest.mark.parametrize("config", [BIASED, QWEN3])
def test_parameters_keep_names_shapes_order_and_decay(config: Config, lora: LoraOptions | None) -> None:
    plain, fused = (tiny_schedule(config, lora=lora, fused=each, precision=DType.BF16) for each in (False, True))
    assert fused.parameters == plain.parameters
    for slots in fused.parameters:
        kept = (slots.weight, slots.master, slots.first_moment, slots.second_moment, *slots.gradients)
        for name in (each for each in kept if each is not None):
            ours, theirs = fused.tensors[name], plain.tensors[name]
            assert (ours.shape, ours.dtype, ours.storage) == (theirs.shape, theirs.dtype, theirs.storage)
    squares = [i.inputs[1] for i in fused.programs["optimizer"].instructions if i.op == "squared_sum"]
    assert squares == [i.inputs[1] for i in plain.programs["optimizer"].instructions if i.op == "squared_sum"]


def test_parts_are_rows_of_the_group_one_after_the_other() -> None:
    schedule = tiny_schedule(BIASED, fused=True)
    whole = schedule.tensors["weight/model.layers.1.self_attn.qkv_proj.weight"]
    q, k, v = (schedule.tensors[f"weight/model.layers.1.self_attn.{p}_proj.weight"] for p in "qkv")
    assert (q.alias_offset, k.alias_offset, v.alias_offset) == (0, q.bytes, q.bytes + k.bytes)
    assert {each.alias_of for each in (q, k, v)} == {whole.name}
    assert whole.bytes == q.bytes + k.bytes + v.bytes
    bias = schedule.tensors["gradient/model.layers.0.self_attn.v_proj.bias"]
    assert bias.alias_of == "gradient/model.layers.0.self_attn.qkv_proj.bias"
    updated = {i.inputs[0] for i in schedule.programs["optimizer"].instructions if i.op == "adamw"}
    assert whole.name in updated and not {q.name, k.name, v.name} & updated
    owned = sum(t.bytes for t in schedule.tensors.values() if t.storage.is_persistent and t.alias_of is None)
    plain = tiny_schedule(BIASED)
    assert owned == sum(t.bytes for t in plain.tensors.values() if t.storage.is_persistent)


def shifted(schedule: Schedule, name: str, rows: int) -> Schedule:
    tensor = schedule.tensors[name]
    row = tensor.bytes // tensor.shape[0]
    moved = replace(tensor, alias_offset=tensor.alias_offset + rows * row)
    return replace(schedule, tensors={**schedule.tensors, name: moved})


@pytest.mark.parametrize("kind", ["weight", "master", "first_moment", "second_moment", "gradient"])
def test_a_part_shifted_by_one_row_is_refused(kind: str) -> None:
    schedule = tiny_schedule(QWEN3, fused=True, precision=DType.BF16)
    for module, rows in product(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.up_proj"), (-1, 1)):
        name = f"{kind}/model.layers.1.{module}.weight"
        with pytest.raises(GraphError, match=r"cannot be an alias|begins at byte"):
            verify_schedule(shifted(schedule, name, rows))
    name = "weight/model.layers.0.mlp.gate_proj.weight"
    tensor = schedule.tensors[name]
    narrow: Tensor = replace(tensor, alias_offset=2)  # within a row
    with pytest.raises(GraphError, match="cannot be an alias"):
        verify_schedule(replace(schedule, tensors={**schedule.tensors, name: narrow}))
    for module, complaint in (("gate", "begins at byte"), ("up", "fill")):
        without = tuple(each for each in schedule.parameters if f"1.mlp.{module}_proj" not in each.name)
        with pytest.raises(GraphError, match=complaint):
            verify_schedule(replace(schedule, parameters=without))


def test_all_layers_share_one_table_of_sines() -> None:
    for recompute in Recompute:
        schedule = tiny_schedule(MIXED, lora=LORA, recompute=recompute, fused=True)
        for name, program in schedule.programs.items():
            tables = [each.outputs[0] for each in program.instructions if each.op == "rope_table"]
            assert len(tables) == (0 if name == "optimizer" else 1)
            readers = [i for i in program.instructions if i.op.startswith("qk_norm_rope")]
            assert all(i.inputs[-1] == tables[0] for i in readers) and len(readers) >= 2 * len(tables)


def test_products_do_as_much_arithmetic_as_before_and_less_traffic() -> None:
    for lora in (None, LORA):
        plain, fused = (tiny_schedule(QWEN3, lora=lora, fused=each) for each in (False, True))
        flops, moved = [], []
        for schedule in (plain, fused):
            costs = [(i.op, instruction_cost(schedule, i)) for i in schedule.programs["train_micro"].instructions]
            flops.append(sum(c.flops for op, c in costs if op.startswith(("linear", "attention"))))
            moved.append(sum(c.bytes for _, c in costs))
        assert flops[0] == flops[1]
        assert moved[1] < 0.9 * moved[0]
        assert max(live_bytes(fused, "train_micro")) < max(live_bytes(plain, "train_micro"))


def block(config: Config) -> Graph:
    return build_model(config).blocks["block"]


def test_dropout_draws_the_same_masks_and_stacks_nothing() -> None:
    plain = block(QWEN3)
    options = replace(LORA, dropout=0.3, targets=("k_proj", "v_proj", "up_proj", "down_proj"))
    purposes = [
        {(n.attributes["purpose"], n.inputs[0].type) for n in graph.nodes if n.op == "dropout"}
        for graph in (attach_lora(plain, options), attach_grouped_lora(pack(plain), options))
    ]
    assert purposes[0] == purposes[1] and len(purposes[0]) == 4
    served = attach_grouped_lora(pack(plain), options, training=False)
    trained = attach_grouped_lora(pack(plain), options)
    assert not any(node.op == "dropout" for node in served.nodes)
    assert served.parameters == trained.parameters
    assert not any(p.parts for p in trained.parameters if "lora" in p.name)


def test_targets_within_a_group_get_their_columns() -> None:
    packed = pack(block(QWEN3))
    verify_graph(packed)
    assert lora_targets(packed) == ALL
    adapted = attach_grouped_lora(packed, replace(LORA, targets=("q_proj", "v_proj", "up_proj")))
    verify_graph(adapted)
    first, second = (node for node in adapted.nodes if node.op == "linear_segments")
    assert first.attributes["starts"] == (H * 0, (H + K) * HD) and first.attributes["widths"] == (H * HD, K * HD)
    assert second.attributes["starts"] == (F,)
    down = adapted.parameter("self_attn.qkv_proj.lora_A.weight")
    assert [part.name for part in down.parts] == [f"self_attn.{p}_proj.lora_A.weight" for p in "qv"]
    assert not adapted.parameter("mlp.up_proj.lora_B.weight").parts
    with pytest.raises(SurroundingsError, match="qkv_proj"):
        attach_grouped_lora(packed, replace(LORA, targets=("qkv_proj",)))


def attention_block(
    *, q_bias: bool = True, other_input: bool = False, read_between: bool = False, other_rope: bool = False
) -> Graph:
    b = Builder("odd")
    x, y = b.input("x", [N, D]), b.input("y", [N, D])
    positions, documents = b.input("input/positions", [N], DType.I32), b.input("input/documents", [M + 1], DType.I32)

    def heads(source: Value, module: str, count: Size, *, bias: bool = True) -> tuple[Value, Value]:
        row = b.weight(f"a.{module}.bias", [count * HD]) if bias else None
        flat = b.linear(source, b.weight(f"a.{module}.weight", [count * HD, D]), row)
        return flat, b.reshape(flat, [N, count, HD])

    _, q = heads(x, "q", H, bias=q_bias)
    flat, k = heads(y if other_input else x, "k", K)
    _, v = heads(x, "v", K)
    q, k = b.rope(q, positions, (1.0,)), b.rope(k, positions, (0.5 if other_rope else 1.0,))
    o = b.reshape(b.attention(q, k, v, documents, scale=1.0), [N, H * HD])
    return b.finish(o, b.scale(flat, 2.0)) if read_between else b.finish(o)


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"q_bias": False}, "some of its projections have a bias"),
        ({"other_input": True}, "read different values"),
        ({"read_between": True}, "reads what lies between"),
        ({"other_rope": True}, "not normed and rotated alike"),
    ],
)
def test_what_cannot_be_packed_is_refused_by_name(odd: dict[str, bool], why: str) -> None:
    verify_graph(pack(attention_block()))
    with pytest.raises(GraphError, match=f"attention 'attention.1.o' cannot be packed: .*{why}"):
        pack(attention_block(**odd))


def test_a_gradient_that_needs_an_overwritten_value_is_refused() -> None:
    b = Builder("in place")
    x, positions = b.input("x", [N, D]), b.input("input/positions", [N], DType.I32)
    qkv = b.linear(x, b.weight("w", [(H + K * 2) * HD, D]))
    squared = b.one("multiply", qkv, qkv)
    table = b.one("rope_table", positions, inverse_frequencies=(1.0,), attention_scaling=1.0)
    turned = b.one("rope_packed", qkv, table, inverse=False, heads=H, kv_heads=K, head_dim=HD)
    graph = b.finish(b.add(squared, turned))
    verify_graph(graph)
    with pytest.raises(GraphError, match=r"rope_packed .* overwrites 'linear.1' .* which its gradient needs"):
        differentiate(graph, ["x"], seeds=(graph.outputs[0].name,))
