"""From a model to its schedule: rewrites, differentiation once a kind of block, programs, unrolled.

train_micro  embed · blocks · head with loss · blocks backward · embed backward; gradients into accumulators
optimizer    sums, decision, AdamW (optimizer_program.py)
evaluate     embed · blocks · head, no gradients, no dropout: sums into output/…
prefill, decode   one sequence, cached (generation_programs.py)
"""

from __future__ import annotations

from dataclasses import replace

from engine.graph.catalogue import CATALOGUE, Catalogue
from engine.graph.errors import GraphError
from engine.graph.fold import fold_additions
from engine.graph.generation_programs import write_generation
from engine.graph.graph import Graph
from engine.graph.model_graphs import HIDDEN, ModelGraphs
from engine.graph.optimizer_program import write_optimizer
from engine.graph.options import ScheduleOptions
from engine.graph.persistent import (
    CORRECT,
    LOSS_SUM,
    WEIGHT_SUM,
    PlacedParameter,
    StoredParameter,
    define_generation,
    define_parameters,
    define_training,
)
from engine.graph.places import Places, forward
from engine.graph.rewrites.grouped_lora import attach_grouped_lora
from engine.graph.rewrites.head import for_evaluation
from engine.graph.rewrites.lora import attach_lora, is_adapter
from engine.graph.rewrites.pack import pack
from engine.graph.rewrites.precision import with_precision
from engine.graph.schedule import ParameterSlots, Program, Schedule
from engine.graph.share import share_tables
from engine.graph.train_program import write_train_micro
from engine.graph.unroll import ProgramWriter, Tensors
from engine.graph.verify import verify_graph


def build_schedule(model: ModelGraphs, options: ScheduleOptions, catalogue: Catalogue = CATALOGUE) -> Schedule:
    """All programs of a run on concrete, named tensors. Same arguments, same schedule, to the last name."""
    trained = rewritten(model, options, training=True)
    served = rewritten(model, options, training=False)
    dims = {**model.dims, **options.dims()}
    tensors: Tensors = {}
    stored = define_parameters(tensors, placed_parameters(trained, full=options.lora is None), dims)
    slots = in_canonical_order(stored, rewritten(model, replace(options, fused=False), training=True))
    define_training(tensors, options, sum(each.is_trainable for each in slots))
    places = Places(tuple(each.whole for each in stored))
    programs = [
        write_train_micro(trained, options, places, ProgramWriter("train_micro", tensors, dims, catalogue)),
        write_optimizer(slots, stored, options, ProgramWriter("optimizer", tensors, dims, catalogue)),
        _write_evaluate(served, places, ProgramWriter("evaluate", tensors, dims, catalogue)),
    ]
    if options.generation_context:
        define_generation(tensors, options, dims["V"])
        programs += write_generation(served, options, places, tensors, dims, catalogue)
    if options.fused:
        programs = [share_tables(fold_additions(program, tensors), tensors) for program in programs]
    return Schedule(tensors, {program.name: program for program in programs}, slots)


def rewritten(model: ModelGraphs, options: ScheduleOptions, *, training: bool) -> ModelGraphs:
    """The model in the run's precision, packed where it is to be fused, with adapters where the method is LoRA."""
    attach = attach_grouped_lora if options.fused else attach_lora

    def precise(graph: Graph) -> Graph:
        return with_precision(graph, options.precision)

    def block(graph: Graph) -> Graph:
        packed = pack(graph) if options.fused else graph
        return precise(packed if options.lora is None else attach(packed, options.lora, training=training))

    result = replace(
        model,
        embed=precise(model.embed),
        blocks={kind: block(graph) for kind, graph in model.blocks.items()},
        head=precise(model.head),
    )
    for graph in (result.embed, *result.blocks.values(), result.head):
        verify_graph(graph)
    return result


def in_canonical_order(stored: tuple[StoredParameter, ...], unfused: ModelGraphs) -> tuple[ParameterSlots, ...]:
    """The slots of all parts in the order of the unfused model's parameters, of which none may be missing or new."""
    slots = {part.name: part for each in stored for part in each.parts}
    names = [name for name, _ in unfused.parameters()]
    if slots.keys() != set(names):
        strangers = ", ".join(sorted(slots.keys() ^ set(names)))
        raise GraphError("graph.lost_parameter", f"a rewrite lost or invented parameters: {strangers}")
    return tuple(slots[name] for name in names)


def placed_parameters(model: ModelGraphs, *, full: bool) -> list[PlacedParameter]:
    """Every parameter with the stages that use it; trained are all of them, or the adapters."""
    uses: dict[str, list[str]] = {}
    for stage in model.stages():
        for parameter in stage.graph.parameters:
            uses.setdefault(stage.canonical(parameter.name), []).append(stage.label)
    return [
        PlacedParameter(name, parameter, tuple(uses[name]), full or is_adapter(name))
        for name, parameter in model.parameters()
    ]


def _write_evaluate(model: ModelGraphs, places: Places, writer: ProgramWriter) -> Program:
    *stages, last = model.stages()
    hidden = forward(tuple(stages), places, writer)
    head = replace(last, graph=for_evaluation(last.graph))
    results = dict(zip(head.graph.outputs, (LOSS_SUM, WEIGHT_SUM, CORRECT), strict=True))
    writer.place(head.graph, head.label, places.given(head, {HIDDEN: hidden}), results=results)
    return writer.finish()
