"""Prefill (a chunk of prompt tokens) and decode (one token) of one sequence on caches that both programs share.

A chunk that is not full is padded at its end: the padding writes cache rows that the next call overwrites and no query
ever sees. `input/last_row` names the row of the chunk whose logits are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.graph.catalogue import Catalogue
from engine.graph.errors import GraphError
from engine.graph.model_graphs import HIDDEN, ModelGraphs, Stage
from engine.graph.options import ScheduleOptions
from engine.graph.persistent import (
    DECODE_IDS,
    DECODE_POSITIONS,
    IDS,
    LOGITS,
    POSITIONS,
    PREFILL_IDS,
    PREFILL_POSITIONS,
)
from engine.graph.places import Places
from engine.graph.rewrites.generation import CACHES, with_cache
from engine.graph.rewrites.head import for_generation
from engine.graph.schedule import Program, Storage, Tensor
from engine.graph.unroll import ProgramWriter, Tensors, define
from engine.graph.verify import verify_graph


def write_generation(
    model: ModelGraphs,
    options: ScheduleOptions,
    places: Places,
    tensors: Tensors,
    dims: Mapping[str, int],
    catalogue: Catalogue,
) -> list[Program]:
    """The programs prefill and decode; defines `state/k_cache.<layer>` and `state/v_cache.<layer>`."""
    if not 0 < options.prefill_chunk <= options.generation_context:
        raise GraphError(
            "graph.bad_options",
            f"a prefill chunk of {options.prefill_chunk} tokens does not fit a context of {options.generation_context}",
        )
    cached = replace(model, blocks={kind: with_cache(block) for kind, block in model.blocks.items()})
    for block in cached.blocks.values():
        verify_graph(block)
    _define_caches(cached, tensors, dims)
    programs = []
    for name, tokens, ids, positions in (
        ("prefill", options.prefill_chunk, PREFILL_IDS, PREFILL_POSITIONS),
        ("decode", 1, DECODE_IDS, DECODE_POSITIONS),
    ):
        writer = ProgramWriter(name, tensors, {**dims, "N": tokens}, catalogue)
        _write(cached, places, writer, {IDS: ids, POSITIONS: positions}, select=name == "prefill")
        programs.append(writer.finish())
    return programs


def _define_caches(model: ModelGraphs, tensors: Tensors, dims: Mapping[str, int]) -> None:
    for stage in model.stages():
        for value in stage.graph.inputs:
            if value.name in CACHES:
                shape = value.type.evaluate(dims)
                define(tensors, Tensor(_cache(value.name, stage), shape, value.type.dtype, Storage.STATE))


def _cache(name: str, stage: Stage) -> str:
    return f"state/{name}.{stage.layer}"


def _write(
    model: ModelGraphs, places: Places, writer: ProgramWriter, renamed: Mapping[str, str], *, select: bool
) -> None:
    handed = dict(renamed)
    *stages, last = model.stages()
    for stage in stages:
        handed |= {name: _cache(name, stage) for name in CACHES}
        placed = writer.place(stage.graph, stage.label, places.given(stage, handed), layer=stage.layer)
        handed[HIDDEN] = placed[stage.graph.outputs[0]]
    head = replace(last, graph=for_generation(last.graph, select=select))
    verify_graph(head.graph)
    writer.place(head.graph, head.label, places.given(head, handed), results={head.graph.outputs[0]: LOGITS})
