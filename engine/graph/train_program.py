"""The training micro-step: forward through all stages, back through those that something below or in them trains."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.graph.autodiff import GRADIENT, Derivative, differentiate
from engine.graph.errors import GraphError
from engine.graph.graph import INPUT, Graph, Value
from engine.graph.model_graphs import HEAD, HIDDEN, ModelGraphs, Stage
from engine.graph.options import Recompute, ScheduleOptions
from engine.graph.persistent import LOSS_SLOTS, STEP, WEIGHT_SLOTS
from engine.graph.places import Places
from engine.graph.rewrites.accumulate import ACCUMULATOR, with_accumulation
from engine.graph.rewrites.head import for_training
from engine.graph.rewrites.recompute import keep_inputs, recompute
from engine.graph.schedule import Program
from engine.graph.unroll import ProgramWriter
from engine.graph.verify import verify_graph


@dataclass(frozen=True, slots=True)
class _Pass:
    """A stage with its backward graph, which is None where nothing in it or below it is trained."""

    stage: Stage
    derivative: Derivative | None
    backward: Graph | None


def write_train_micro(model: ModelGraphs, options: ScheduleOptions, places: Places, writer: ProgramWriter) -> Program:
    """Loss partials into this micro-batch's slots, gradients into the accumulators."""
    passes = _passes(model, options, places)
    forward_names: list[dict[Value, str]] = []
    handed: dict[str, str] = {}
    for each in passes:
        stage = each.stage
        placed = writer.place(stage.graph, stage.label, places.given(stage, handed), layer=stage.layer)
        forward_names.append(placed)
        handed[HIDDEN] = placed[stage.graph.outputs[0]]
    loss_sum, weight_sum = (forward_names[-1][value] for value in passes[-1].stage.graph.outputs)
    writer.call("store_slot", (LOSS_SLOTS, loss_sum, STEP), (LOSS_SLOTS,))
    writer.call("store_slot", (WEIGHT_SLOTS, weight_sum, STEP), (WEIGHT_SLOTS,))
    incoming = ""
    for each, names in zip(reversed(passes), reversed(forward_names), strict=True):
        if each.backward is not None:
            incoming = _place_backward(each, names, incoming, places, writer)
    return writer.finish()


def _passes(model: ModelGraphs, options: ScheduleOptions, places: Places) -> list[_Pass]:
    """Each kind of block is differentiated once for each set of gradients that some layer of it needs."""
    made: dict[tuple[str, tuple[str, ...]], tuple[Derivative, Graph]] = {}
    passes: list[_Pass] = []
    below = False
    for stage in model.stages():
        trainable = places.trainable(stage)
        if stage.label == HEAD:
            stage = replace(stage, graph=_head(stage.graph, trainable))
        wrt = ((HIDDEN,) if below else ()) + trainable
        below = below or bool(trainable)
        if not wrt:
            passes.append(_Pass(stage, None, None))
            continue
        key = (stage.graph.name, wrt)
        if key not in made:
            made[key] = _differentiated(stage, wrt, trainable, options)
        passes.append(_Pass(stage, *made[key]))
    if not below:
        raise GraphError("graph.nothing_trained", f"no parameter of '{model.architecture}' is trained")
    return passes


def _head(graph: Graph, trainable: tuple[str, ...]) -> Graph:
    weights = {node.inputs[1].name for node in graph.nodes if node.op == "head_loss"}
    return for_training(graph, weight_gradient=bool(weights & set(trainable)))


def _differentiated(
    stage: Stage, wrt: tuple[str, ...], trainable: tuple[str, ...], options: ScheduleOptions
) -> tuple[Derivative, Graph]:
    graph = stage.graph
    first = graph.outputs[0].name
    if stage.label == HEAD:
        derivative = differentiate(graph, wrt, loss=first)
    else:
        derivative = differentiate(graph, wrt, seeds=(first,))
    if options.recompute is Recompute.ON and stage.layer is not None:
        derivative = recompute(derivative, keep_inputs(graph))
    backward = with_accumulation(derivative, trainable)
    verify_graph(backward)
    return derivative, backward


def _place_backward(each: _Pass, names: dict[Value, str], incoming: str, places: Places, writer: ProgramWriter) -> str:
    """Place one stage's backward graph; the tensor of the gradient it hands down ("" at the bottom)."""
    assert each.backward is not None
    stage, graph = each.stage, each.backward
    given: dict[Value, str] = {}
    for value in (*graph.inputs, *(parameter.value for parameter in graph.parameters)):
        if value in names:
            given[value] = names[value]
        elif value.name.startswith(GRADIENT):
            given[value] = incoming
        elif value.name.startswith(ACCUMULATOR):
            given[value] = places.gradient(stage, value.name.removeprefix(ACCUMULATOR))
        elif value.name.startswith(INPUT):
            given[value] = value.name
    placed = writer.place(graph, stage.label, given, layer=stage.layer)
    return placed[graph.outputs[0]] if graph.outputs else ""
