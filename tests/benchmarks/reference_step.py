"""A training micro-step of the reference executor beside transformers + PEFT + autograd, in one run, as a ratio.

    python -m tests.benchmarks.reference_step [--tokens 512] [--threads 2] [--method lora|full] [--repeats 5]

The shapes are SmolLM2-135M's with random weights; one document fills the micro-batch; both sides do forward and
backward with every token counted and leave gradients behind. Rounds alternate, so that other load hits both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from engine.graph.options import AdamWOptions, Recompute, ScheduleOptions
from engine.graph.programs import build_schedule
from engine.graph.rewrites.lora import LoraOptions
from engine.graph.types import DType
from engine.models.registry import build_model
from engine.planner.layout import lay_out
from engine.runtime.executor import ReferenceExecutor

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
}
RANK, ALPHA = 16, 32.0
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def options(tokens: int, method: str) -> ScheduleOptions:
    return ScheduleOptions(
        micro_batch_size=1,
        sequence_length=tokens,
        max_documents=1,
        gradient_accumulation_steps=1,
        chunk_tokens=128,
        optimizer=AdamWOptions(0.9, 0.999, 1e-8, 0.0),
        lora=LoraOptions(RANK, ALPHA, TARGETS) if method == "lora" else None,
        precision=DType.F32,
        recompute=Recompute.OFF,
        fused=False,
    )


def engine_step(tokens: int, method: str, threads: int) -> tuple[ReferenceExecutor, Callable[[], object]]:
    schedule = build_schedule(build_model(CONFIG), options(tokens, method))
    layout = lay_out(schedule)
    print(f"arena {layout.arena_bytes / 2**20:,.0f} MiB, {layout.transient_bytes / 2**20:,.0f} MiB of it transient")
    executor = ReferenceExecutor(schedule, layout.offsets, layout.arena_bytes, threads)
    generator = np.random.default_rng(0)
    for slots in schedule.parameters:
        shape = schedule.tensors[slots.weight].shape
        executor.write(slots.weight, generator.standard_normal(shape, np.float32) * 0.02 + float(len(shape) == 1))
    executor.write("input/ids", ids(tokens))
    executor.write("input/targets", np.roll(ids(tokens), -1))
    executor.write("input/positions", np.arange(tokens, dtype=np.int32))
    executor.write("input/loss_weights", np.ones(tokens, np.float32))
    executor.write("input/documents", np.array([0, tokens, tokens], np.int32))
    return executor, lambda: executor.run("train_micro")


def peer_step(tokens: int, method: str) -> Callable[[], object]:
    model = LlamaForCausalLM._from_config(LlamaConfig(**CONFIG), dtype=torch.float32, attn_implementation="sdpa")
    if method == "lora":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # PEFT asks transformers for a property by its old name
            model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=list(TARGETS)))
    batch = torch.from_numpy(ids(tokens)).long()[None]

    def step() -> None:
        model.zero_grad()
        model(input_ids=batch, labels=batch, use_cache=False).loss.backward()

    return step


def ids(tokens: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, CONFIG["vocab_size"], tokens).astype(np.int32)


def profile(executor: ReferenceExecutor) -> None:
    """Seconds by operation, over one micro-step."""
    seconds: dict[str, float] = {}
    calls = executor._calls["train_micro"]
    instructions = executor._schedule.programs["train_micro"].instructions
    with torch.no_grad():
        for instruction, call in zip(instructions, calls, strict=True):
            started = time.perf_counter()
            call()
            seconds[instruction.op] = seconds.get(instruction.op, 0.0) + time.perf_counter() - started
    for op, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        print(f"  {op:28s} {spent * 1e3:9.1f} ms")


def report(clock: str, spent: dict[str, list[float]], tokens: int) -> None:
    """Medians of all rounds but the first, which warms up. CPU time (of all threads) is the one to read on a busy
    machine, with one thread: waiting threads burn it too."""
    engine, peer = (float(np.median(times[1:])) for times in spent.values())
    for name, seconds in zip(spent, (engine, peer), strict=True):
        print(f"{clock:4s} {name:20s} {seconds:7.3f} s a micro-step, {tokens / seconds:8.0f} tokens/s")
    print(f"{clock:4s} ratio of times, engine / transformers + PEFT: {engine / peer:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--method", choices=("lora", "full"), default="lora")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    executor, ours = engine_step(arguments.tokens, arguments.method, arguments.threads)
    theirs = peer_step(arguments.tokens, arguments.method)
    wall: dict[str, list[float]] = {"engine": [], "transformers + PEFT": []}
    cpu: dict[str, list[float]] = {name: [] for name in wall}
    for _ in range(arguments.repeats + 1):
        for name, step in zip(wall, (ours, theirs), strict=True):
            started = time.perf_counter(), time.process_time()
            step()
            wall[name].append(time.perf_counter() - started[0])
            cpu[name].append(time.process_time() - started[1])
    report("wall", wall, arguments.tokens)
    report("cpu", cpu, arguments.tokens)
    profile(executor)


if __name__ == "__main__":
    main()
