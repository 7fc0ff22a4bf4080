"""A plan in words: bytes by category, speed, time, reasons, proposals."""

from __future__ import annotations

from engine.protocol.plan import Plan
from studio.cli.output import Output
from studio.cli.words import count, duration, gib, gigabytes
from studio.planning.service import Planned

VERDICTS = {"fits": "Fits", "tight": "Tight", "does_not_fit": "Doesn't fit"}


def print_plan(planned: Planned, output: Output) -> None:
    """Everything that a person should see before launching."""
    plan = planned.plan
    if plan is None:
        return
    _memory(plan, output)
    _time(plan, output)
    if planned.statistics is not None:
        s = planned.statistics
        output.text(
            f"Data         {count(s.training.rows)} rows to train on, {count(s.evaluation.rows)} to evaluate on, "
            f"{count(s.rows_left_out)} left out; packing fills {s.packing_efficiency:.0%}"
        )
    output.text(
        f"Parameters   {count(plan.trainable_parameters)} of {count(plan.total_parameters)} are trained; "
        f"a checkpoint takes {gigabytes(plan.checkpoint_bytes)}"
    )
    for reason in plan.reasons:
        output.text(f"Because      {reason.message}")
    for proposal in plan.proposals:
        changes = ", ".join(f"{key}={value}" for key, value in proposal.changes.items())
        best = " (recommended)" if proposal.recommended else ""
        output.text(f"Proposal     {changes}: frees {gib(proposal.frees_bytes)}, {VERDICTS[proposal.verdict]}{best}")


def _memory(plan: Plan, output: Output) -> None:
    output.table(
        ["Memory", "device", "host"],
        [[row.category, gib(row.device_bytes), gib(row.host_bytes)] for row in plan.memory],
    )
    for budget in plan.budgets:
        output.text(
            f"{VERDICTS[budget.verdict]:<12} {gib(budget.planned_bytes)} of {gib(budget.usable_bytes)} usable "
            f"{budget.memory} memory"
        )


def _time(plan: Plan, output: Output) -> None:
    timeline = plan.timeline
    how = "measured on this machine" if timeline.measured else "assumed rates"
    output.text(
        f"Speed        ~{timeline.tokens_per_second:,.0f} tokens/s, {duration(timeline.step_seconds)} a step ({how})"
    )
    if timeline.total_steps:
        output.text(
            f"Time         ~{duration(timeline.total_seconds)} for {count(timeline.total_steps)} steps, "
            f"{count(timeline.evaluations)} evaluations"
        )
