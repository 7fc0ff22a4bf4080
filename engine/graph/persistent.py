"""The tensors that outlive a program: weights with all that trains them, inputs, state, outputs.

weight/<name>                            frozen, or trainable in the run's precision
master/<name>                            fp32 master of a trainable weight of lower precision
first_moment/<name>, second_moment/<name>
gradient/<name>                          fp32 accumulator; gradient/<use>/<name>, one a use, where it is tied
input/…  state/…  output/…               see the tables below

A grouped parameter (graph.Parameter.parts) is stored whole; the tensors of its parts are ranges of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from engine.graph.graph import Parameter
from engine.graph.ops.step import LIMITS, METRICS, OPTIMIZER_STEP, STEP_STATE
from engine.graph.options import ScheduleOptions
from engine.graph.schedule import ParameterSlots, Storage, Tensor
from engine.graph.types import DType, TensorType
from engine.graph.unroll import Tensors, define

IDS, TARGETS, LOSS_WEIGHTS = "input/ids", "input/targets", "input/loss_weights"
POSITIONS, DOCUMENTS = "input/positions", "input/documents"
STEP, STEP_LIMITS = "input/step_state", "input/limits"
PREFILL_IDS, PREFILL_POSITIONS = "input/prefill_ids", "input/prefill_positions"
DECODE_IDS, DECODE_POSITIONS = "input/decode_ids", "input/decode_positions"
CACHE_LENGTH, LAST_ROW = "input/cache_length", "input/last_row"
LOSS_SLOTS, WEIGHT_SLOTS = "state/loss_slots", "state/weight_slots"
SQUARES, STEP_COUNT, METRIC_STATE = "state/gradient_squares", "state/optimizer_step", "state/metrics"
LOSS_SUM, WEIGHT_SUM, CORRECT, LOGITS = "output/loss_sum", "output/weight_sum", "output/correct", "output/logits"


@dataclass(frozen=True, slots=True)
class PlacedParameter:
    """A parameter of the (rewritten) model: full name, graph parameter, which graphs use it, trained or not."""

    name: str
    parameter: Parameter
    uses: tuple[str, ...]
    trainable: bool


@dataclass(frozen=True, slots=True)
class StoredParameter:
    """A parameter as graphs read it, and the checkpoint's parameters in it: itself, where it is not grouped."""

    whole: ParameterSlots
    parts: tuple[ParameterSlots, ...]


def define_parameters(
    tensors: Tensors, parameters: Iterable[PlacedParameter], dims: Mapping[str, int]
) -> tuple[StoredParameter, ...]:
    """Weights, masters, moments and accumulators of all parameters, and of their parts."""
    return tuple(_define_stored(tensors, each, dims) for each in parameters)


def _define_stored(tensors: Tensors, placed: PlacedParameter, dims: Mapping[str, int]) -> StoredParameter:
    whole = _define_parameter(tensors, placed, dims)
    prefix = placed.name.removesuffix(placed.parameter.name)
    parts: list[ParameterSlots] = []
    first = 0
    for part in placed.parameter.parts:
        rows = part.rows.evaluate(dims)
        parts.append(_define_part(tensors, whole, prefix + part.name, first, rows))
        first += rows
    return StoredParameter(whole, tuple(parts) or (whole,))


def _define_part(tensors: Tensors, whole: ParameterSlots, name: str, first: int, rows: int) -> ParameterSlots:
    made: dict[str, str] = {}  # a weight that is its own master is one tensor

    def part_of(tensor: str) -> str:
        if tensor not in made:
            base = tensors[tensor]
            start = first * (base.bytes // base.shape[0])
            alias = tensor.removesuffix(whole.name) + name
            shape = (rows, *base.shape[1:])
            made[tensor] = define(tensors, replace(base, name=alias, shape=shape, alias_of=tensor, alias_offset=start))
        return made[tensor]

    def part_or_none(tensor: str | None) -> str | None:
        return None if tensor is None else part_of(tensor)

    return ParameterSlots(
        name,
        part_of(whole.weight),
        whole.decay,
        master=part_or_none(whole.master),
        first_moment=part_or_none(whole.first_moment),
        second_moment=part_or_none(whole.second_moment),
        gradients=tuple(part_of(each) for each in whole.gradients),
    )


def _define_parameter(tensors: Tensors, placed: PlacedParameter, dims: Mapping[str, int]) -> ParameterSlots:
    name, decay = placed.name, placed.parameter.decay
    type_ = placed.parameter.value.type
    shape = type_.evaluate(dims)

    def make(prefix: str, dtype: DType, storage: Storage) -> str:
        return define(tensors, Tensor(f"{prefix}/{name}", shape, dtype, storage))

    if not placed.trainable:
        return ParameterSlots(name, make("weight", type_.dtype, Storage.FROZEN), decay)
    weight = make("weight", type_.dtype, Storage.TRAINABLE)
    master = weight if type_.dtype is DType.F32 else make("master", DType.F32, Storage.MASTER)
    prefixes = [f"gradient/{use}" for use in placed.uses] if len(placed.uses) > 1 else ["gradient"]
    return ParameterSlots(
        name,
        weight,
        decay,
        master=master,
        first_moment=make("first_moment", DType.F32, Storage.OPTIMIZER_STATE),
        second_moment=make("second_moment", DType.F32, Storage.OPTIMIZER_STATE),
        gradients=tuple(make(prefix, DType.F32, Storage.GRADIENT) for prefix in prefixes),
    )


def define_training(tensors: Tensors, options: ScheduleOptions, trainable: int) -> None:
    """Inputs and state of the programs train_micro, optimizer and evaluate; `trainable` parameters."""
    tokens, slots = (options.tokens,), (options.gradient_accumulation_steps,)
    _many(tensors, Storage.INPUT, dict.fromkeys((IDS, TARGETS, POSITIONS), (tokens, DType.I32)))
    _many(tensors, Storage.INPUT, {LOSS_WEIGHTS: (tokens, DType.F32), DOCUMENTS: ((options.documents + 1,), DType.I32)})
    _typed(tensors, Storage.INPUT, {STEP: STEP_STATE, STEP_LIMITS: LIMITS})
    _many(tensors, Storage.STATE, {LOSS_SLOTS: (slots, DType.F32), WEIGHT_SLOTS: (slots, DType.F32)})
    _many(tensors, Storage.STATE, {SQUARES: ((trainable,), DType.F32)})
    _typed(tensors, Storage.STATE, {STEP_COUNT: OPTIMIZER_STEP, METRIC_STATE: METRICS})
    _many(tensors, Storage.STATE, dict.fromkeys((LOSS_SUM, WEIGHT_SUM, CORRECT), ((1,), DType.F32)))


def define_generation(tensors: Tensors, options: ScheduleOptions, vocabulary: int) -> None:
    """Inputs and state of the programs prefill and decode, but for the caches, which belong to layers."""
    chunk = (options.prefill_chunk,)
    _many(tensors, Storage.INPUT, dict.fromkeys((PREFILL_IDS, PREFILL_POSITIONS), (chunk, DType.I32)))
    singles = (DECODE_IDS, DECODE_POSITIONS, CACHE_LENGTH, LAST_ROW)
    _many(tensors, Storage.INPUT, dict.fromkeys(singles, ((1,), DType.I32)))
    _many(tensors, Storage.STATE, {LOGITS: ((1, vocabulary), DType.F32)})


def _many(tensors: Tensors, storage: Storage, entries: Mapping[str, tuple[tuple[int, ...], DType]]) -> None:
    for name, (shape, dtype) in entries.items():
        define(tensors, Tensor(name, shape, dtype, storage))


def _typed(tensors: Tensors, storage: Storage, entries: Mapping[str, TensorType]) -> None:
    _many(tensors, storage, {name: (type_.evaluate({}), type_.dtype) for name, type_ in entries.items()})
