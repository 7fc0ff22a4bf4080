"""Tables that every layer makes for itself out of the same inputs become one, made where the first of them was."""

from __future__ import annotations

from dataclasses import replace

from engine.graph.schedule import Instruction, Program, Storage
from engine.graph.unroll import Tensors

SHARED = ("rope_table",)


def share_tables(program: Program, tensors: Tensors) -> Program:
    """`program` with one call for all equal ones; the tensors of the others are taken out of `tensors`."""
    made: dict[object, str] = {}
    instead: dict[str, str] = {}
    kept: list[Instruction] = []
    for each in program.instructions:
        if each.op in SHARED and all(tensors[name].storage is Storage.INPUT for name in each.inputs):
            (table,) = each.outputs
            key = (each.op, each.inputs, tuple(sorted(each.attributes.items())))
            instead[table] = made.setdefault(key, table)
            if instead[table] != table:
                del tensors[table]
                continue
            kept.append(replace(each, layer=None))
        else:
            kept.append(replace(each, inputs=tuple(instead.get(name, name) for name in each.inputs)))
    return Program(program.name, tuple(kept))
