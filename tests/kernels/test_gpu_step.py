"""step.cu, adamw.cu and adamw_8bit.cu against the reference executor's formulas in float64."""

from __future__ import annotations

import math

import pytest
import torch

from engine.kernels.families.optimizer import CHUNK, STATE_BLOCK
from engine.runtime.philox import Stream, random_words
from tests.helpers.gpu_kernels import (
    BF16,
    F32,
    F32_EPSILON,
    I32,
    I64,
    assert_stored,
    draw,
    gpu,
    poisoned,
    same_bits,
    step_state,
)

pytestmark = pytest.mark.gpu

COUNTS = [1, 31, 32, 1000, 8 * 256 * 3 + 5]
SEED = 0x8000000000000001
BETA1, BETA2, EPSILON, DECAY = 0.9, 0.999, 1e-8, 0.1
CONSTANTS = {
    "beta2": BETA2, "log_beta1": math.log(BETA1), "log_beta2": math.log(BETA2),
    "epsilon": EPSILON, "weight_decay": DECAY,
}  # fmt: skip
ATTRIBUTES = {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON, "weight_decay": DECAY}


@pytest.mark.parametrize("dtype", [BF16, F32])
@pytest.mark.parametrize("count", COUNTS)
def test_accumulate(count: int, dtype: torch.dtype) -> None:
    name = "accumulate_f32" if dtype == F32 else "accumulate_bf16"
    gradient, accumulator = draw(count, dtype=dtype), poisoned(count, dtype=F32)
    arguments = {"accumulator": accumulator, "gradient": gradient, "count": count}
    gpu().run(name, step_state=step_state(SEED, 5, 0), **arguments)
    assert same_bits(accumulator, gradient.float()), "what an earlier step left, NaN too, has no influence"
    gpu().run(name, step_state=step_state(SEED, 5, 1), **arguments)
    assert same_bits(accumulator, gradient.float() + gradient.float())


def test_store_slot() -> None:
    slots = poisoned(4, dtype=F32)
    gpu().run("store_slot", slots=slots, value=draw(1, dtype=F32), step_state=step_state(SEED, 5, 2))
    assert slots.isnan().tolist() == [True, True, False, True]
    assert slots[2] == draw(1, dtype=F32)[0]


def squares_of(gradients: list[torch.Tensor]) -> torch.Tensor:
    """All gradients' squared sums in two launches."""
    addresses, counts, starts = [], [], [0]
    for each in gradients:
        for start in range(0, each.numel(), CHUNK):
            addresses.append(each.data_ptr() + 4 * start)
            counts.append(min(CHUNK, each.numel() - start))
        starts.append(len(addresses))
    squares, partials = poisoned(len(gradients), dtype=F32), poisoned(len(addresses), dtype=F32)
    table = torch.tensor(addresses, dtype=I64, device="cuda"), torch.tensor(counts, dtype=I32, device="cuda")
    gpu().run("squared_sums", chunk_addresses=table[0], chunk_counts=table[1], partials=partials, chunks=len(addresses))
    slot_starts = torch.tensor(starts, dtype=I32, device="cuda")
    gpu().run("slot_sums", partials=partials, slot_starts=slot_starts, squares=squares, slots=len(gradients))
    return squares


def test_squared_sums_of_many_gradients() -> None:
    sizes = (1, 5, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 123)
    gradients = [draw(size, dtype=F32, seed=i) for i, size in enumerate(sizes)]
    squares = squares_of(gradients)
    assert same_bits(squares, squares_of(gradients))
    exact = torch.stack([each.double().square().sum() for each in gradients])
    # Positive terms, 128 in a row a thread and then a tree of nine: at most 137 roundings, √137 of them in effect.
    assert_stored(squares, exact, exact * 16 * F32_EPSILON)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_what_is_not_finite_passes_through_the_squares(bad: float) -> None:
    gradient = draw(2 * CHUNK, dtype=F32)
    gradient[CHUNK + 77] = bad
    assert not bool(squares_of([gradient]).isfinite().all())


LIMITS = [1e-3, 1.0, math.inf, math.inf]
DECISIONS = {
    "applied": ([4.0, 5.0], [3.0, 2.0], [10.0, 6.0], LIMITS),
    "unclipped": ([1e-6], [3.0], [10.0], LIMITS),
    "no weight": ([4.0], [0.0], [0.0], LIMITS),
    "nan loss": ([4.0], [math.nan], [10.0], LIMITS),
    "infinite gradient": ([math.inf], [3.0], [10.0], LIMITS),
    "over the loss bound": ([4.0], [30.0], [10.0], [1e-3, 1.0, math.inf, 2.0]),
    "over the norm bound": ([1e6], [3.0], [10.0], [1e-3, 1.0, 50.0, math.inf]),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_decide_step_is_the_reference(case: str) -> None:
    squares, losses, weights, limits = (torch.tensor(values, dtype=F32) for values in DECISIONS[case])
    expected = {"optimizer_step": torch.tensor([7]), "metrics": torch.zeros(6), "decision": torch.zeros(2)}
    call_once(
        "decide_step",
        [squares, losses, weights, limits, expected["optimizer_step"], expected["metrics"]],
        [expected["decision"]],
    )
    found = {"optimizer_step": torch.tensor([7]).cuda(), "metrics": poisoned(6, dtype=F32),
             "decision": poisoned(2, dtype=F32)}  # fmt: skip
    gpu().run(
        "decide_step",
        squares=squares.cuda(),
        loss_slots=losses.cuda(),
        weight_slots=weights.cuda(),
        limits=limits.cuda(),
        square_count=len(squares),
        slot_count=len(losses),
        **found,
    )
    for name, tensor in found.items():  # both in fp64, rounded once: the same bits, but for the sign of a NaN
        assert torch.equal(tensor.cpu().nan_to_num(nan=123.0), expected[name].nan_to_num(nan=123.0)), name


def call_once(op: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor], **attributes: object) -> None:
    """An operation of the reference executor that updates its inputs."""
    from engine.runtime.reference.dispatch import BINDERS
    from engine.runtime.reference.operands import Operands

    BINDERS[op](Operands(op, tuple(inputs), tuple(outputs), attributes))()


class Update:
    """State of one parameter before a step, and the guard."""

    def __init__(self, count: int, applied: bool = True) -> None:
        self.p, self.g = draw(count, dtype=F32), draw(count, dtype=F32, seed=3)
        self.m, self.v = draw(count, dtype=F32, seed=1, scale=0.1), draw(count, dtype=F32, seed=2, scale=0.1).square()
        self.decision = torch.tensor([0.37 if applied else 0.0, float(applied)], dtype=F32).cuda()
        self.limits = torch.tensor([1e-2, 1.0, math.inf, math.inf], dtype=F32).cuda()
        self.optimizer_step = torch.tensor([3]).cuda()
        self.count = count

    @property
    def guard(self) -> dict[str, torch.Tensor]:
        return {"decision": self.decision, "limits": self.limits, "optimizer_step": self.optimizer_step}

    def exact(self, m: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
        """p, m, v after the step by the reference executor, float64, on the GPU"""
        tensors = [each.double().cpu() for each in (self.p, m, v, self.g)]
        guard = [self.decision.cpu().double(), self.limits.cpu().double(), self.optimizer_step.cpu()]
        call_once("adamw", [*tensors, *guard], [], **ATTRIBUTES)
        return [each.cuda() for each in tensors[:3]]


# A step moves p by lr · m̂ / (√v̂ + ε): a dozen fp32 roundings (constants among them), relative to that step.
STEP = 12 * F32_EPSILON


@pytest.mark.parametrize("with_working", [True, False])
@pytest.mark.parametrize("count", COUNTS)
def test_adamw_f32(count: int, with_working: bool) -> None:
    u = Update(count)
    p, m, v = u.exact(u.m, u.v)
    step = (p - u.p.double() * (1 - 1e-2 * DECAY)).abs()
    results = []
    for _ in range(2):
        state = {"parameter": u.p.clone(), "first_moment": u.m.clone(), "second_moment": u.v.clone()}
        working = poisoned(count) if with_working else None
        gpu().run("adamw_f32", gradient=u.g, working=working, count=count, **state, **u.guard, **CONSTANTS)
        results.append(state)
        if working is not None:
            assert same_bits(working, state["parameter"].bfloat16())
    first, second = results
    assert all(same_bits(first[name], second[name]) for name in first)
    size = u.m.double().abs() + u.g.double().abs()
    assert_stored(first["first_moment"], m, size * 4 * F32_EPSILON)
    assert_stored(first["second_moment"], v, v * STEP)
    assert_stored(first["parameter"], p, p.abs() * 2 * F32_EPSILON + step * STEP + size * 1e-2 * 64 * F32_EPSILON)


@pytest.mark.parametrize("name", ["adamw_f32", "adamw_bf16", "adamw_8bit_f32", "adamw_8bit_bf16"])
def test_a_step_that_is_not_applied_writes_nothing(name: str) -> None:
    count = 1000
    u = Update(count, applied=False)
    u.g.fill_(float("nan"))
    state = {"parameter": u.p.to(BF16) if name.endswith("bf16") else u.p}
    if "8bit" in name:
        state |= codes(count)
    else:
        state |= {"first_moment": u.m, "second_moment": u.v}
    before = {key: each.clone() for key, each in state.items()}
    gpu().run(name, gradient=u.g, count=count, **state, **u.guard, **CONSTANTS, **rounding(name))
    assert all(same_bits(before[key], state[key]) for key in state)


def rounding(name: str) -> dict[str, torch.Tensor | int]:
    """What stochastic rounding needs beyond the other arguments."""
    return {"step_state": step_state(SEED, 11, 0), "purpose": 6, "layer": 2} if name.endswith("bf16") else {}


def stochastic(values: torch.Tensor) -> torch.Tensor:
    """bf16 of fp32 values as the kernels round them"""
    words = torch.from_numpy(random_words(Stream(SEED, 6, 11, 0, 2), values.numel()).astype("int64")).cuda()
    bits = values.view(I32).long() & 0xFFFFFFFF
    return ((bits + (words & 0xFFFF)) >> 16).to(torch.int16).view(BF16)


@pytest.mark.parametrize("count", COUNTS)
def test_adamw_bf16_rounds_the_fp32_result_stochastically(count: int) -> None:
    u = Update(count)
    u.p = u.p.to(BF16).float()
    wide = {"parameter": u.p.clone(), "first_moment": u.m.clone(), "second_moment": u.v.clone()}
    narrow = {name: each.clone() for name, each in wide.items()} | {"parameter": u.p.to(BF16)}
    gpu().run("adamw_f32", gradient=u.g, count=count, **wide, **u.guard, **CONSTANTS)
    gpu().run("adamw_bf16", gradient=u.g, count=count, **narrow, **u.guard, **CONSTANTS, **rounding("adamw_bf16"))
    assert same_bits(narrow["parameter"], stochastic(wide["parameter"]))
    assert all(same_bits(wide[name], narrow[name]) for name in ("first_moment", "second_moment"))


def codes(count: int) -> dict[str, torch.Tensor]:
    """8-bit state as it is before the first step: zeros."""
    blocks = -(-count // STATE_BLOCK)
    return {
        "m_codes": torch.zeros(count, dtype=torch.int8, device="cuda"),
        "v_codes": torch.zeros(count, dtype=torch.uint8, device="cuda"),
        "m_scales": torch.zeros(blocks, dtype=BF16, device="cuda"),
        "v_scales": torch.zeros(blocks, dtype=BF16, device="cuda"),
    }


def decoded(state: dict[str, torch.Tensor], count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """m, v in float64 by the definition in adamw_8bit.cu"""
    scale_m, scale_v = (
        state[name].double().repeat_interleave(STATE_BLOCK)[:count] for name in ("m_scales", "v_scales")
    )
    z = state["m_codes"].double() / 127
    return z / (2 - z.abs()) * scale_m, (state["v_codes"].double() / 255 * scale_v).square()


@pytest.mark.parametrize("count", COUNTS)
def test_adamw_8bit(count: int) -> None:
    u = Update(count)
    u.g[: STATE_BLOCK // 2] *= 1e-6  # one block with a wide range: small values must neither vanish nor blow up
    u.g[max(count // 2, STATE_BLOCK) :] *= 1e-10  # and blocks far below what fp16 can hold
    u.p, state = u.p.to(BF16).float(), codes(count)
    for step in range(3):
        u.optimizer_step.fill_(step + 1)
        m, v = decoded(state, count)
        exact_p, exact_m, exact_v = u.exact(m, v)
        before = {name: each.clone() for name, each in state.items()} | {"parameter": u.p.to(BF16)}
        wide = u.p.clone()
        working = poisoned(count)
        gpu().run("adamw_8bit_f32", parameter=wide, gradient=u.g, working=working, count=count, **state, **u.guard,
                  **CONSTANTS)  # fmt: skip
        gpu().run("adamw_8bit_bf16", gradient=u.g, count=count, **before, **u.guard, **CONSTANTS,
                  **rounding("adamw_8bit_bf16"))  # fmt: skip
        assert same_bits(working, wide.bfloat16()) and same_bits(before["parameter"], stochastic(wide))
        assert all(same_bits(before[name], state[name]) for name in state)
        # p is made from m and v before they are encoded again: fp32 throughout, as in adamw_f32.
        move = (exact_p - u.p.double() * (1 - 1e-2 * DECAY)).abs()
        size = (exact_m.abs() + u.g.double().abs()) / (exact_v.sqrt() + 1e-8)
        assert_stored(wide, exact_p, exact_p.abs() * 2 * F32_EPSILON + move * STEP + size * 1e-2 * 64 * F32_EPSILON)
        assert_encoded(state, exact_m, exact_v, count)
        u.p = wide.bfloat16().float()


def assert_encoded(state: dict[str, torch.Tensor], m: torch.Tensor, v: torch.Tensor, count: int) -> None:
    """Scales are the block's largest magnitude rounded up, codes the nearest ones."""
    padded = -count % STATE_BLOCK
    for name, values in (("m_scales", m.abs()), ("v_scales", v.sqrt())):
        largest = torch.nn.functional.pad(values, (0, padded)).view(-1, STATE_BLOCK).amax(1)
        scale = state[name].double()
        assert bool(((scale >= largest * (1 - STEP)) & (scale <= largest * (1 + 2.0**-7 + STEP))).all())
        assert bool((scale.isfinite() & ((scale > 0) | (largest == 0))).all())
    found_m, found_v = decoded(state, count)
    scale_m, scale_v = (
        state[name].double().repeat_interleave(STATE_BLOCK)[:count] for name in ("m_scales", "v_scales")
    )
    # Half a code of softsign is (2 − |z|)² / 4 / 127 of the scale in m, at most 1/127; of √v half of 1/255, or a
    # whole one where a small v keeps code 1 instead of vanishing.
    assert bool(((found_m - m).abs() <= scale_m / 127 * 1.01).all())
    root, found_root = v.sqrt(), found_v.sqrt()
    allowed = torch.where(root < scale_v / 255, 1.0, 0.5) * scale_v / 255 * 1.01
    assert bool(((found_root - root).abs() <= allowed).all())
    assert bool((found_root[v > 0] > 0).all()), "a second moment that became zero would make the step m / epsilon"


@pytest.mark.parametrize("gradient", [0.0, 1e-44, 1e-30, 1e30])
def test_8bit_scales_are_finite_for_any_gradient(gradient: float) -> None:
    u, state = Update(64), codes(64)
    u.g.fill_(gradient)
    u.g[5] *= -1
    parameter = u.p.clone()
    gpu().run("adamw_8bit_f32", parameter=parameter, gradient=u.g, count=64, **state, **u.guard, **CONSTANTS)
    m, v = decoded(state, 64)
    assert all(bool(each.isfinite().all()) for each in (parameter, m, v))
    assert bool((state["m_codes"][:5] >= 0).all()) and bool((state["m_codes"][5] <= 0).all())
