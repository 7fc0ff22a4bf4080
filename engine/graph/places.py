"""Which tensor each input and parameter of a placed graph is, and the forward pass that most programs share."""

from __future__ import annotations

from collections.abc import Mapping

from engine.graph.graph import INPUT, Value
from engine.graph.model_graphs import HIDDEN, Stage
from engine.graph.schedule import ParameterSlots
from engine.graph.unroll import ProgramWriter


class Places:
    """Finds the tensors of names, by the parameters' slots."""

    def __init__(self, slots: tuple[ParameterSlots, ...]) -> None:
        self._slots = {each.name: each for each in slots}

    def trainable(self, stage: Stage) -> tuple[str, ...]:
        """The parameters of a stage's graph that are trained, by their names within the graph."""
        names = (parameter.name for parameter in stage.graph.parameters)
        return tuple(name for name in names if self._slots[stage.canonical(name)].is_trainable)

    def gradient(self, stage: Stage, parameter: str) -> str:
        """The accumulator of a parameter for its use in this stage."""
        name = stage.canonical(parameter)
        gradients = self._slots[name].gradients
        return gradients[0] if len(gradients) == 1 else f"gradient/{stage.label}/{name}"

    def given(self, stage: Stage, handed: Mapping[str, str]) -> dict[Value, str]:
        """Tensors of a stage's parameters and inputs: `handed` by name, else `input/…` as they are called."""
        weights = {each.value: self._slots[stage.canonical(each.name)].weight for each in stage.graph.parameters}
        inputs = {value: handed.get(value.name, value.name) for value in stage.graph.inputs}
        return weights | {
            value: name for value, name in inputs.items() if name.startswith(INPUT) or value.name in handed
        }


def forward(
    stages: tuple[Stage, ...], places: Places, writer: ProgramWriter, handed: Mapping[str, str] | None = None
) -> str:
    """Place stages that hand `x` on; the tensor that the last one hands over. `handed`: other names for inputs."""
    names = dict(handed or {})
    for stage in stages:
        placed = writer.place(stage.graph, stage.label, places.given(stage, names), layer=stage.layer)
        names[HIDDEN] = placed[stage.graph.outputs[0]]
    return names[HIDDEN]
