"""The unrolled programs of tiny models: what is in them, and what is not."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from engine.graph.costs import instruction_cost, program_cost
from engine.graph.errors import GraphError
from engine.graph.lifetimes import Lifetime, lifetimes, live_bytes
from engine.graph.options import Recompute
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.schedule import Schedule, Storage
from engine.graph.types import DType
from engine.graph.verify_schedule import verify_schedule
from tests.helpers.schedules import LORA, first_fit, tiny_schedule
from tests.helpers.tiny_models import LLAMA, QWEN3

LAYERS = 2


def ops(schedule: Schedule, program: str) -> Counter[str]:
    return Counter(each.op for each in schedule.programs[program].instructions)


MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 5}
MIXED = {**QWEN3, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}


@pytest.mark.parametrize(
    ("config", "lora", "recompute", "precision"),
    list(product((LLAMA, QWEN3, MISTRAL, MIXED), (None, LORA), Recompute, (DType.F32, DType.BF16))),
)
def test_every_combination_is_legal_and_fits_an_arena(
    config: dict[str, object], lora: LoraOptions | None, recompute: Recompute, precision: DType
) -> None:
    schedule = tiny_schedule(config, lora=lora, recompute=recompute, precision=precision)
    verify_schedule(schedule, first_fit(schedule))


def test_full_fine_tuning_of_an_untied_llama() -> None:
    schedule = tiny_schedule()
    train = ops(schedule, "train_micro")
    assert train["linear"] == 7 * LAYERS
    assert train["linear_weight_backward"] == train["linear_input_backward"] == 7 * LAYERS
    assert train["attention"] == train["attention_backward"] == LAYERS
    assert train["rms_norm"] == train["rms_norm_backward"] == train["rms_norm_weight_backward"] == 2 * LAYERS + 1
    assert train["embedding_backward"] == train["head_loss"] == 1
    assert train["accumulate"] == len(schedule.parameters) == 9 * LAYERS + 3
    assert train["reshape"] == 0  # views are aliases
    assert all(slots.is_trainable and slots.master == slots.weight for slots in schedule.parameters)
    optimizer = ops(schedule, "optimizer")
    assert optimizer == {"squared_sum": 21, "decide_step": 1, "adamw": 21}


def test_lora_prunes_what_nobody_trains() -> None:
    schedule = tiny_schedule(lora=LORA)
    train = ops(schedule, "train_micro")
    assert train["linear_weight_backward"] == train["accumulate"] == 2 * 3 * LAYERS
    assert train["embedding_backward"] == train["rms_norm_weight_backward"] == train["bias_backward"] == 0
    head = next(each for each in schedule.programs["train_micro"].instructions if each.op == "head_loss")
    assert head.attributes["weight_gradient"] is False
    # Layer 0 hands no gradient down: of its seven projections' inputs, those of q, k and v want none.
    first = [i.op for i in schedule.programs["train_micro"].instructions if i.layer == 0]
    second = [i.op for i in schedule.programs["train_micro"].instructions if i.layer == 1]
    assert first.count("linear_input_backward") == second.count("linear_input_backward") - 3 - 2
    assert train["dropout"] == 3 * LAYERS * 2 - 2  # forward and backward, but for q and v of layer 0 backward
    trained = [slots for slots in schedule.parameters if slots.is_trainable]
    assert {slots.name.rsplit("_", 1)[0] for slots in trained if ".0." in slots.name} == {
        f"model.layers.0.{module}.lora" for module in ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj")
    }
    assert ops(schedule, "evaluate")["dropout"] == ops(schedule, "prefill")["dropout"] == 0


def test_tied_embeddings_have_one_accumulator_a_use_summed_once() -> None:
    schedule = tiny_schedule(QWEN3)
    tied = schedule.parameter("model.embed_tokens.weight")
    assert tied.gradients == ("gradient/embed/model.embed_tokens.weight", "gradient/head/model.embed_tokens.weight")
    adds = [each for each in schedule.programs["optimizer"].instructions if each.op == "add"]
    assert [each.inputs for each in adds] == [tied.gradients]
    assert adds[0].outputs == tied.gradients[:1]
    targets = [i.outputs[0] for i in schedule.programs["train_micro"].instructions if i.op == "accumulate"]
    assert set(tied.gradients) <= set(targets)
    assert len(targets) == len(set(targets)) == len(schedule.parameters) + 1


def test_bf16_has_fp32_masters_written_back() -> None:
    schedule = tiny_schedule(precision=DType.BF16)
    slots = schedule.parameter("model.norm.weight")
    assert slots.master == "master/model.norm.weight"
    assert schedule.tensors["weight/model.norm.weight"].dtype is DType.BF16
    kept = [f"{kind}/{slots.name}" for kind in ("master", "first_moment", "second_moment", "gradient")]
    assert {schedule.tensors[name].dtype for name in kept} == {DType.F32}
    assert ops(schedule, "optimizer")["cast"] == len(schedule.parameters)


def test_decay_spares_norms_and_biases() -> None:
    config = {**LLAMA, "attention_bias": True, "mlp_bias": True}
    schedule = tiny_schedule(config)
    spared = {slots.name for slots in schedule.parameters if not slots.decay}
    assert spared == {s.name for s in schedule.parameters if "norm" in s.name or s.name.endswith(".bias")}
    decays = {
        each.inputs[0]: each.attributes["weight_decay"]
        for each in schedule.programs["optimizer"].instructions
        if each.op == "adamw"
    }
    assert decays["weight/model.norm.weight"] == 0.0
    assert decays["weight/lm_head.weight"] == 0.1


def test_recompute_runs_forward_ops_twice_and_needs_less_memory() -> None:
    off, on = tiny_schedule(), tiny_schedule(recompute=Recompute.ON)
    assert ops(on, "train_micro")["attention"] == 2 * LAYERS
    assert ops(on, "train_micro")["head_loss"] == 1
    assert max(live_bytes(on, "train_micro")) < max(live_bytes(off, "train_micro"))
    for program in ("optimizer", "evaluate", "prefill", "decode"):
        assert on.programs[program] == off.programs[program]


def test_layers_follow_the_pattern() -> None:
    schedule = tiny_schedule(MIXED)
    windows = [i.attributes["window"] for i in schedule.programs["train_micro"].instructions if i.op == "attention"]
    assert windows == [None, 4]


def test_inputs_have_the_agreed_names_and_shapes() -> None:
    schedule = tiny_schedule()
    shapes = {tensor.name: (tensor.shape, tensor.dtype) for tensor in schedule.of_storage(Storage.INPUT)}
    assert shapes["input/ids"] == shapes["input/targets"] == shapes["input/positions"] == ((24,), DType.I32)
    assert shapes["input/loss_weights"] == ((24,), DType.F32)
    assert shapes["input/documents"] == ((2 * 4 + 1,), DType.I32)
    assert shapes["input/step_state"] == ((4,), DType.I64)
    assert shapes["input/limits"] == ((4,), DType.F32)
    assert schedule.tensors["state/loss_slots"].shape == schedule.tensors["state/weight_slots"].shape == (2,)
    assert schedule.tensors["state/k_cache.1"].shape == (16, 2, 8)
    assert schedule.tensors["output/logits"].shape == (1, 320)


def test_generation_is_left_out_without_a_context() -> None:
    schedule = tiny_schedule(generation_context=0, prefill_chunk=0)
    assert set(schedule.programs) == {"train_micro", "optimizer", "evaluate"}
    with pytest.raises(GraphError, match="prefill chunk of 32 tokens does not fit a context of 16"):
        tiny_schedule(prefill_chunk=32)


def test_lifetimes_span_first_to_last_touch_of_any_alias() -> None:
    schedule = tiny_schedule()
    instructions = schedule.programs["train_micro"].instructions
    found = {life.tensor: life for life in lifetimes(schedule, "train_micro")}
    query = "train_micro/layers.0/linear.1"  # read by rope under the shape [N, H, HD]
    touching = [i for i, each in enumerate(instructions) if query in {schedule.tensors[n].root for n in each.touched()}]
    assert found[query] == Lifetime(query, 24 * 32 * 4, touching[0], touching[-1])
    assert instructions[touching[-1]].op == "rope"
    assert all(not schedule.tensors[name].storage.is_persistent for name in found)
    workspace = next(each for each in found if each.endswith("/workspace"))
    assert found[workspace].first == found[workspace].last
    assert found[workspace].bytes == 8 * 320 * 4
    brute = [
        sum(life.bytes for life in found.values() if life.first <= index <= life.last)
        for index in range(len(instructions))
    ]
    assert list(live_bytes(schedule, "train_micro")) == brute


def test_the_same_arguments_give_the_same_schedule() -> None:
    assert tiny_schedule(lora=LORA) == tiny_schedule(lora=LORA)


def test_costs_are_those_of_the_textbook() -> None:
    schedule = tiny_schedule()
    matrices = sum(
        schedule.tensors[slots.weight].elements
        for slots in schedule.parameters
        if len(schedule.tensors[slots.weight].shape) == 2 and "embed" not in slots.name
    )
    tokens = 24
    dense = 6 * matrices * tokens
    attention = 3.5 * 2 * tokens * 12 * 4 * 8 * LAYERS  # forward 2 and backward 5 · N·T·H·HD, causal
    small = sum(
        instruction_cost(schedule, each).flops
        for each in schedule.programs["train_micro"].instructions
        if not each.op.startswith(("linear", "attention", "head"))
    )
    assert program_cost(schedule, "train_micro").flops == dense + attention + small
    assert small < 0.1 * dense
