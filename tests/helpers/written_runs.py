"""Runs as an engine left them, written without one."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.protocol import events as e
from engine.protocol.heartbeat import Heartbeat, boot_id, host, write_heartbeat
from engine.protocol.plan import Plan, encode_plan
from engine.protocol.recipe import Recipe, resolve, to_yaml
from studio.home import open_home
from studio.runs.user_file import UserData, write_user
from tests.helpers.plans import plan_for, small_recipe


def write_run(
    root: Path, number: int, name: str, *, losses: tuple[float, ...] = (2.0, 1.0), model: str = "m",
    tags: tuple[str, ...] = (), **settings: object,
) -> str:  # fmt: skip
    """A finished run as an engine left it."""
    folder = open_home(root).run(f"20261201T10{number // 60:02}{number % 60:02}-AAAA")
    folder.create()
    recipe: Recipe = small_recipe(root, **settings)
    plan: Plan = plan_for(recipe)
    plan = msgspec.structs.replace(plan, numerics=msgspec.structs.replace(plan.numerics, model_hash=model))
    folder.recipe.write_text(to_yaml(recipe))
    folder.plan.write_bytes(encode_plan(plan))
    write_user(folder, UserData(name, tags))
    beat = Heartbeat(host=host(), boot_id=boot_id(), pid=2**22, start_ticks=1, attempt=1, step=0, time_utc="")
    write_heartbeat(folder.heartbeat, beat)
    found: list[e.Event] = []

    def write(kind: type[e.Event], step: int, **fields: object) -> None:
        stamp = {"sequence": len(found) + 1, "attempt": 1, "step": step, "elapsed_seconds": float(step)}
        found.append(kind(**stamp, time_utc="2026-12-01T10:00:00Z", **fields))  # type: ignore[arg-type]  # the test's own events

    write(e.RunStarted, 0, recipe=msgspec.to_builtins(resolve(recipe)), total_steps=len(losses),
          resumed_from_step=None, engine_version="0", device="cpu", pid=1)  # fmt: skip
    for step, loss in enumerate(losses, start=1):
        write(e.StepCompleted, step, loss=loss, learning_rate=1e-4, grad_norm=1.0, tokens=100, trained_tokens=100,
              tokens_per_second=1000.0, step_seconds=0.1, epoch=0.1)  # fmt: skip
    last = len(losses)
    write(e.EvaluationCompleted, last, evaluation_loss=losses[-1], accuracy=None, trained_tokens=1, seconds=0.1)
    write(e.SampleGenerated, last, index=0, prompt="Why?", text=f"{name} says so.", new_tokens=3, seconds=0.1)
    write(e.RunFinished, last, final_loss=losses[-1], best_evaluation_loss=losses[-1], best_step=last,
          trained_tokens=100 * last, seconds=float(last))  # fmt: skip
    folder.events.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in found))
    return folder.id
