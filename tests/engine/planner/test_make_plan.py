from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from engine.planner.layout import lay_out, spans_of
from engine.planner.machine import MachineSpec
from engine.planner.make import footprint, make_plan, schedule_of
from engine.planner.memory import process_bytes, verdict_of
from engine.planner.options import schedule_options
from engine.planner.packing import aligned
from engine.planner.timeline import count_steps, interval
from engine.planner.timing import program_cost
from engine.protocol.data_messages import DataStatistics, Histogram, SplitStatistics
from engine.protocol.plan import CATEGORIES, Plan, decode_plan, encode_plan
from engine.protocol.recipe import DatasetRef, ModelRef, Recipe, ResolvedRecipe, resolve

CONFIG: dict[str, Any] = {  # Any: JSON
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 320,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 512, "tie_word_embeddings": True,
    "hidden_act": "silu",
}  # fmt: skip
ROOMY = MachineSpec(cores=2, memory_bytes=24 * 2**30, other_bytes=2**30, disk_free_bytes=10**12)


def recipe(**settings: Any) -> ResolvedRecipe:  # Any: settings of any kind
    given = {"sequence_length": 64, **settings}
    return resolve(Recipe(model=ModelRef(source="folder", path="/m"), datasets=(DatasetRef("r.jsonl"),), **given))


def statistics(micro_batches: int = 80, evaluation: int = 4) -> DataStatistics:
    def split(count: int) -> SplitStatistics:
        return SplitStatistics(rows=count * 2, documents=count * 2, tokens=count * 60, trained_tokens=count * 30,
                               blocks=count, micro_batches=count)  # fmt: skip

    return DataStatistics(
        rows_read=200, rows_left_out=0, training=split(micro_batches), evaluation=split(evaluation),
        histogram=Histogram(64, (1,), (60,)), sequence_length=64, micro_batch_size=1, packing=True, max_documents=3,
        packing_efficiency=0.9, padded_efficiency=0.5, padded_blocks=160, issues=(), formats=("chat",),
        template="model", template_hash="t", tokenizer_hash="k", dataset_hash="d", vocabulary_size=320,
    )  # fmt: skip


def plan(machine: MachineSpec = ROOMY, data: DataStatistics | None = None, **settings: Any) -> Plan:  # Any: as above
    return make_plan(recipe(**settings), CONFIG, data or statistics(), machine, "hash")


def test_the_same_arguments_give_the_same_plan_and_it_survives_json() -> None:
    assert plan() == plan()
    assert decode_plan(encode_plan(plan())) == plan()


def test_the_shown_memory_is_the_allocated_memory() -> None:
    made = plan()
    assert [row.category for row in made.memory] == list(CATEGORIES)
    host = sum(row.host_bytes for row in made.memory)
    assert host - process_bytes(CONFIG["vocab_size"]) == made.placement.arena_bytes
    assert made.budgets[0].planned_bytes == host


def test_every_tensor_that_is_touched_has_an_offset_inside_the_arena() -> None:
    made = plan(sample_prompts=("hello",))
    schedule = schedule_of(made, recipe(sample_prompts=("hello",)), CONFIG)
    for program in schedule.programs.values():
        for instruction in program.instructions:
            for name in instruction.touched():
                root = schedule.tensors[schedule.tensors[name].root]
                end = made.placement.offsets[root.name] + root.bytes
                assert end <= made.placement.arena_bytes


@pytest.mark.parametrize("settings", [{}, {"method": "full"}, {"recompute": "blocks"}, {"sample_prompts": ("a",)}])
def test_no_two_tensors_alive_at_once_share_a_byte(settings: dict[str, Any]) -> None:  # Any: settings
    made = recipe(**settings)
    planned = plan(**settings)
    schedule = footprint(CONFIG, schedule_options(made, planned.numerics, planned.placement)).schedule
    layout = lay_out(schedule)
    persistent = [t for t in schedule.tensors.values() if t.storage.is_persistent and t.alias_of is None]
    ends = sorted((layout.offsets[t.name], layout.offsets[t.name] + aligned(t.bytes)) for t in persistent)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(ends))
    assert ends[-1][1] == layout.persistent_bytes
    for program in schedule.programs.values():
        spans = spans_of(schedule, program)
        for i, one in enumerate(spans):
            for other in spans[i + 1 :]:
                if one.first <= other.last and other.first <= one.last:
                    a, b = layout.offsets[one.name], layout.offsets[other.name]
                    assert a + one.size_bytes <= b or b + other.size_bytes <= a, (one.name, other.name)


def test_packing_stays_near_the_lower_bound() -> None:
    made = plan()
    layout = footprint(CONFIG, schedule_options(recipe(), made.numerics, made.placement)).layout
    packing = layout.programs["train_micro"]
    assert packing.total_bytes <= 1.05 * packing.lower_bound_bytes


def test_recompute_saves_activations_and_touches_nothing_else() -> None:
    kept, again = plan(), plan(recompute="blocks")
    assert again.numerics == kept.numerics
    by = {row.category: row.host_bytes for row in kept.memory}
    after = {row.category: row.host_bytes for row in again.memory}
    assert after["activations"] < by["activations"]
    assert {c: b for c, b in after.items() if c != "activations"} == {c: b for c, b in by.items() if c != "activations"}
    assert again.timeline.flops_per_step > kept.timeline.flops_per_step


def test_full_training_memory_in_closed_form() -> None:
    made = plan(method="full")
    by = {row.category: row.host_bytes for row in made.memory}
    parameters = made.total_parameters
    for category, each in (("weights", 4), ("optimizer", 8)):
        assert 0 <= by[category] - each * parameters < 256 * 2 * 40
    tied = 320 * 64 * 4  # the tied embedding has one accumulator a use
    assert 0 <= by["gradients"] - 4 * parameters - tied < 256 * 40


def test_lora_parameters_are_counted_as_peft_counts_them() -> None:
    d, f, kv = 64, 128, 32
    per_layer = 8 * ((d + d) + 2 * (d + kv) + (d + d) + 2 * (d + f) + (f + d))
    assert plan(lora_rank=8).trainable_parameters == 3 * per_layer


def test_the_gemm_flops_of_a_step_in_closed_form() -> None:
    """Full: 6 FLOPs a weight of a linear and token; attention and norms on top are small at this length."""
    made = recipe(method="full", gradient_accumulation_steps=1)
    planned = plan(method="full", gradient_accumulation_steps=1)
    schedule = schedule_of(planned, made, CONFIG)
    linears = 3 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128) + 320 * 64
    flops = program_cost(schedule, schedule.programs["train_micro"], ROOMY).flops
    assert 6 * linears * 64 <= flops <= 1.25 * 6 * linears * 64


def test_steps_intervals_and_evaluations() -> None:
    made = plan(gradient_accumulation_steps=8, epochs=2.0, evaluate_every=0.1, checkpoint_every=7)
    t = made.timeline
    assert (t.total_steps, t.steps_per_epoch, t.evaluate_every_steps, t.checkpoint_every_steps) == (20, 10.0, 2, 7)
    assert t.evaluations == 11
    assert plan(maximum_steps=3).timeline.total_steps == 3
    assert interval(0, 100) == 0 and interval(0.001, 100) == 1 and interval(30, 10) == 30
    partial = count_steps(recipe(gradient_accumulation_steps=8), statistics(micro_batches=81))
    assert partial.total == 11


def test_evaluation_datasets_without_a_usable_row_are_refused() -> None:
    made = plan(data=statistics(evaluation=0), evaluation_datasets=(DatasetRef("e.jsonl"),))
    assert [problem.code for problem in made.problems if problem.severity == "error"] == ["nothing_to_evaluate"]
    assert not [problem for problem in plan(data=statistics(evaluation=0)).problems if problem.severity == "error"]


def test_a_share_of_steps_is_not_rounded_up_by_the_last_bit() -> None:
    steps = count_steps(recipe(gradient_accumulation_steps=1, warmup_ratio=0.07), statistics(micro_batches=100))
    assert 0.07 * 100 > 7  # floating point
    assert steps.warmup == 7


def test_the_predicted_speed_counts_real_tokens_as_a_run_does() -> None:
    made = plan(gradient_accumulation_steps=8)
    positions = made.timeline.tokens_per_step / made.timeline.step_seconds
    assert made.timeline.tokens_per_second == pytest.approx(0.9 * positions)  # packing fills 90 % of the positions


def test_no_evaluation_rows_means_no_evaluations() -> None:
    assert plan(data=statistics(evaluation=0)).timeline.evaluations == 0


@pytest.mark.parametrize(
    "free, verdict", [(0.5, "fits"), (0.1, "fits"), (0.09, "tight"), (0.0, "tight"), (-0.01, "does_not_fit")]
)
def test_the_verdict_follows_the_free_share(free: float, verdict: str) -> None:
    assert verdict_of(round(1000 * (1 - free)), 1000) == verdict


@pytest.mark.scenario("S23")
def test_a_plan_that_does_not_fit_is_refused_with_its_bytes_and_proposals_that_hold() -> None:
    settings: dict[str, Any] = {"method": "full", "micro_batch_size": 4, "sequence_length": 512}  # Any: settings
    needed = plan(**settings).budgets[0].planned_bytes
    small = msgspec.structs.replace(ROOMY, memory_bytes=needed - 2**20, other_bytes=0)
    made = plan(small, **settings)
    problem = next(p for p in made.problems if p.code == "memory_does_not_fit")
    assert problem.arguments["over"] == 2**20 and made.verdict == "does_not_fit"
    assert len(made.proposals) >= 3
    for proposal in made.proposals:
        applied = plan(small, **{**settings, **proposal.changes})
        assert needed - applied.budgets[0].planned_bytes == proposal.frees_bytes
        assert applied.verdict == proposal.verdict
        product = applied.numerics.micro_batch_size * applied.numerics.gradient_accumulation_steps
        assert product == 4 * recipe().gradient_accumulation_steps
    recommended = [p for p in made.proposals if p.recommended]
    assert len(recommended) <= 1 and all(p.verdict == "fits" for p in recommended)


def test_problems_are_told_together() -> None:
    found = make_plan(recipe(sequence_length=1024), CONFIG, None, ROOMY).problems
    assert {p.code for p in found} == {"beyond_context", "model_not_here", "data_not_measured"}
    nothing = make_plan(recipe(), CONFIG, statistics(micro_batches=0), ROOMY, "hash").problems
    assert [p.code for p in nothing] == ["nothing_to_learn"]
    full_disk = msgspec.structs.replace(ROOMY, disk_free_bytes=1000)
    assert "no_disk_for_checkpoints" in {p.code for p in plan(full_disk).problems}


def test_the_longest_sample_prompt_fits_its_cache() -> None:
    short, long = plan(sample_prompts=("a",)), plan(sample_prompts=("a", "ü" * 90))
    assert short.placement.generation_context == 1 + 128 + recipe().sample_tokens
    assert long.placement.generation_context == 180 + 128 + recipe().sample_tokens
    assert plan(sample_prompts=("a" * 5000,)).placement.generation_context == 512, "no more than the model can read"
    assert plan().placement.generation_context == 0
