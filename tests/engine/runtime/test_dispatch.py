from __future__ import annotations

from engine.graph.catalogue import CATALOGUE
from engine.runtime.reference.dispatch import BINDERS


def test_every_op_that_becomes_an_instruction_has_a_binder_and_no_binder_is_left_over() -> None:
    assert set(BINDERS) == {name for name, spec in CATALOGUE.items() if not spec.is_view}
