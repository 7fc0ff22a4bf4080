"""Additions move into the calls beside them: the last pass over a program, after everything has been differentiated.

    z = add(x, y);  n, rstd = rms_norm(z, w)           becomes add_rms_norm, also where a layer ends and the next begins
    d = rms_norm_backward(…);  z = add(r, d)           becomes rms_norm_residual_backward, or …_weight_backward where
                                                       the weight's gradient is made from the same operands
    p = linear_input_backward(dy, w);  z = add(q, p)   becomes linear_input_backward_add, in place on q

Each needs that nobody misses what is no longer made, and that nothing in between writes what is now read later. What is
added last is rounded once instead of twice; in fp32 the bits are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from engine.graph.schedule import Instruction, Program, Storage
from engine.graph.unroll import Tensors

Slot = tuple[Instruction, ...]


def fold_additions(program: Program, tensors: Tensors) -> Program:
    """`program` with its additions folded; tensors that are no longer made are taken out of `tensors`."""
    folding = _Folding(program, tensors)
    for number, instruction in enumerate(program.instructions):
        if instruction.op == "rms_norm":
            folding.into_norm(number, instruction)
        elif instruction.op == "add" and not folding.norm_backward(number, instruction):
            folding.product(number, instruction)
    return Program(program.name, tuple(each for slot in folding.slots for each in slot))


class _Folding:
    """What stands at each place of the old program: its instruction, nothing, or a call that took more in."""

    def __init__(self, program: Program, tensors: Tensors) -> None:
        self.slots: list[Slot] = [(each,) for each in program.instructions]
        self._tensors = tensors
        self._with_views = {tensor.alias_of for tensor in tensors.values() if tensor.alias_of}
        self._touching: dict[str, set[int]] = defaultdict(set)  # tensor that owns memory → places that touch it
        for number, each in enumerate(program.instructions):
            for name in each.touched():
                self._touching[tensors[name].root].add(number)

    def into_norm(self, number: int, norm: Instruction) -> None:
        """The sum is written for the residual stream as before; what is saved is reading it back at once."""
        total, weight = norm.inputs
        place = self._maker(total, "add", number)
        if place is None or self._touched_between(total, place, number):
            return
        (add,) = self.slots[place]
        if self._written_between(add.inputs, place, number):
            return
        fused = replace(norm, op="add_rms_norm", inputs=(*add.inputs, weight), outputs=(total, *norm.outputs))
        self._put(place)
        self._put(number, fused)

    def norm_backward(self, number: int, add: Instruction) -> bool:
        for dx, dresidual in (add.inputs, add.inputs[::-1]):
            place = self._maker(dx, "rms_norm_backward", number)
            if place is None or self._touching[dx] != {place, number}:
                continue
            (back,) = self.slots[place]
            if self._written_between(back.inputs, place, number):
                continue
            operands = (*back.inputs, dresidual)
            self._put(place)
            del self._tensors[dx]
            sibling = self._weight_gradient(back, place, number)
            if sibling is None:
                self._put(number, replace(add, op="rms_norm_residual_backward", inputs=operands))
            else:
                self._with_weight(number, sibling, add, operands)
            return True
        return False

    def product(self, number: int, add: Instruction) -> bool:
        """The product that is made last is added to the other operand, which takes the name of the sum."""
        places = [(self._maker(name, "linear_input_backward", number), name) for name in add.inputs]
        made = sorted((place, name) for place, name in places if place is not None)
        if not made:
            return False
        place, name = made[-1]
        other = add.inputs[0] if name == add.inputs[1] else add.inputs[1]
        (product,), (total,) = self.slots[place], add.outputs
        is_free = self._is_own(other) and max(self._touching[other]) == number
        if not is_free or self._touching[name] != {place, number} or name == other:
            return False
        if self._written_between(product.inputs, place, number):
            return False
        self._put(place)
        del self._tensors[name]
        self._rename(other, total, before=number)
        self._put(
            number, replace(product, op="linear_input_backward_add", inputs=(total, *product.inputs), outputs=(total,))
        )
        return True

    def _with_weight(self, number: int, sibling: int, add: Instruction, operands: tuple[str, ...]) -> None:
        """One call where the addition was; the accumulation of the weight's gradient moves behind it."""
        (gradient,) = self.slots[sibling]
        (dweight,) = gradient.outputs
        (reader,) = self._touching[dweight] - {sibling}
        (accumulate,) = self.slots[reader]
        fused = replace(add, op="rms_norm_residual_weight_backward", inputs=operands, outputs=(*add.outputs, dweight))
        self._put(sibling)
        self._put(reader)
        self._put(number, fused, accumulate)

    def _weight_gradient(self, back: Instruction, place: int, number: int) -> int | None:
        """Where the weight's gradient is made from the operands of `back`, and read by its accumulation alone."""
        dy, x, _, rstd = back.inputs
        for sibling in range(place + 1, number):
            for each in self.slots[sibling]:
                if each.op == "rms_norm_weight_backward" and each.inputs == (dy, x, rstd):
                    readers = self._touching[each.outputs[0]] - {sibling}
                    ops = [other.op for reader in readers for other in self.slots[reader]]
                    return sibling if ops == ["accumulate"] and max(readers) < number else None
        return None

    def _maker(self, name: str, op: str, before: int) -> int | None:
        """The place that makes a transient tensor by `op`, which still stands there alone."""
        places = sorted(place for place in self._touching[name] if place < before) if self._is_own(name) else []
        if not places or len(self.slots[places[0]]) != 1:
            return None
        (maker,) = self.slots[places[0]]
        return places[0] if maker.op == op and maker.outputs == (name,) else None

    def _is_own(self, name: str) -> bool:
        tensor = self._tensors[name]
        return tensor.storage is Storage.TRANSIENT and tensor.alias_of is None and name not in self._with_views

    def _touched_between(self, name: str, first: int, last: int) -> bool:
        return any(first < place < last for place in self._touching[name])

    def _written_between(self, names: Collection[str], first: int, last: int) -> bool:
        roots = {self._tensors[name].root for name in names}
        places = {place for root in roots for place in self._touching[root] if first < place < last}
        return any(
            self._tensors[name].root in roots for place in places for each in self.slots[place] for name in each.outputs
        )

    def _rename(self, old: str, new: str, before: int) -> None:
        for place in self._touching.pop(old) - {before}:
            renamed = [
                replace(
                    each,
                    inputs=tuple(new if name == old else name for name in each.inputs),
                    outputs=tuple(new if name == old else name for name in each.outputs),
                )
                for each in self.slots[place]
            ]
            self.slots[place] = tuple(renamed)
            self._touching[new].add(place)
        del self._tensors[old]

    def _put(self, number: int, *instructions: Instruction) -> None:
        """Let `instructions` stand at a place instead of what is there."""
        for each in self.slots[number]:
            for name in each.touched():
                if name in self._tensors:
                    self._touching[self._tensors[name].root].discard(number)
        self.slots[number] = instructions
        for each in instructions:
            for name in each.touched():
                self._touching[self._tensors[name].root].add(number)
