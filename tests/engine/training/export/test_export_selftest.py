"""The self-test must turn red for each way in which an export can be subtly wrong, and be green for a sound one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from engine.planner.machine import MachineSpec
from engine.planner.make import make_plan
from engine.planner.options import schedule_options
from engine.training.executor import AnyArray
from engine.training.export.export_run import LOGIT_LIMITS
from engine.training.export.merged import write_merged
from engine.training.export.peft_adapter import write_adapter
from engine.training.export.reference import Reference, answer_prompts, read_reference, write_reference
from engine.training.export.selftest import Verdict, verify
from engine.training.export.source import ExportSource
from engine.training.model_folder import open_weights, read_config
from engine.training.safetensors_file import (
    SafetensorsFile,
    bfloat16_to_float32,
    float32_to_bfloat16,
    write_safetensors,
)
from engine.training.served_model import Subject
from tests.helpers.tiny_checkpoints import export_source
from tests.helpers.tiny_models import write_tiny_llama

# peft 0.21 still asks transformers 5 by the old name.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")

PROMPTS = ["The dog", "What is the capital of France?"]


@dataclass
class Exported:
    """One export with the engine's own answers to hold it against."""

    source: ExportSource
    folder: Path
    reference: Reference
    logits: list[AnyArray]
    is_rounded: bool

    def verdict(self) -> Verdict:
        return verify(self.folder, self.reference, self.logits)

    def parts(self) -> set[str]:
        """Which parts of the self-test complain."""
        return {reason.partition(":")[0] for reason in self.verdict().reasons}


def _nothing(*_: object) -> None:
    pass


def _export(root: Path, export_format: str, dtype: str) -> Exported:
    source = export_source(root, write_tiny_llama(root / "base", dtype=dtype), lora_rank=4, lora_alpha=8.0)
    config = read_config(source.base)
    plan = make_plan(source.recipe, config, None, MachineSpec(cores=1, memory_bytes=1 << 33, other_bytes=0))
    options = schedule_options(source.recipe, plan.numerics, plan.placement)
    subject = Subject(source.base, source.recipe, options, 1, source.checkpoint)
    answers, logits, is_chat = answer_prompts(subject, PROMPTS, _nothing)
    folder = root / "out"
    folder.mkdir()
    if export_format == "peft":
        write_adapter(source, folder)
    else:
        write_merged(source, folder, _nothing)
    exactness = "rounded" if export_format == "merged" and dtype != "float32" else "exact"
    reference = Reference(
        base=str(source.base),
        checkpoint=str(source.checkpoint),
        export_format=export_format,
        method="lora",
        adapter_scale=source.adapter_scale,
        is_chat=is_chat,
        logit_limit=LOGIT_LIMITS[exactness] * max(1.0, *(float(np.abs(row).max()) for row in logits)),
        step=12,
        answers=answers,
    )
    write_reference(root / "reference.safetensors", reference, logits)
    stored, rows = read_reference(root / "reference.safetensors")
    return Exported(source, folder, stored, rows, exactness == "rounded")


@pytest.fixture(params=[("peft", "float32"), ("merged", "float32"), ("merged", "bfloat16")], ids="-".join)
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Exported:
    return _export(tmp_path, *request.param)


def _change(path: Path, pick: Callable[[str], bool], factor: float) -> None:
    """Multiply the first tensor that `pick` chooses."""
    file = SafetensorsFile(path)
    arrays = {name: np.array(file.read(name)) for name in file.entries}
    name = next(name for name in sorted(arrays) if pick(name))
    if file.entries[name].dtype == "BF16":
        arrays[name] = float32_to_bfloat16(bfloat16_to_float32(arrays[name]) * np.float32(factor))
    else:
        arrays[name] = (arrays[name] * np.float32(factor)).astype(arrays[name].dtype)
    entries = list(file.entries.values())
    path.unlink()  # the arrays were copied out of the map before
    write_safetensors(path, entries, lambda entry: arrays[entry.name], {"format": "pt"})


def test_a_sound_export_is_green(exported: Exported) -> None:
    verdict = exported.verdict()
    assert verdict.reasons == []
    assert verdict.equal_texts == len(PROMPTS) or exported.is_rounded
    assert verdict.largest_difference is not None
    assert verdict.largest_difference <= exported.reference.logit_limit


def test_one_tensor_off_by_one_percent_is_red(exported: Exported) -> None:
    name = "adapter_model.safetensors" if exported.reference.export_format == "peft" else "model.safetensors"
    _change(exported.folder / name, lambda tensor: "q_proj" in tensor, 1.01)
    assert "tensor" in exported.parts()


def test_another_template_is_red(exported: Exported) -> None:
    settings = exported.folder / "tokenizer_config.json"
    content = json.loads(settings.read_text())
    content["chat_template"] = content["chat_template"].replace("<|im_end|>", "")
    settings.write_text(json.dumps(content))
    assert "template" in exported.parts()


def test_an_adapter_without_alpha_over_r_is_red(tmp_path: Path) -> None:
    exported = _export(tmp_path, "peft", "float32")
    path = exported.folder / "adapter_config.json"
    content = json.loads(path.read_text())
    content["lora_alpha"] = content["r"]
    path.write_text(json.dumps(content))
    assert "logits" in exported.parts()


def test_a_wrong_scale_that_hides_below_the_rounding_of_the_logits_is_red(tmp_path: Path) -> None:
    exported = _export(tmp_path, "peft", "float32")
    exported.reference = msgspec.structs.replace(exported.reference, logit_limit=1e6)
    assert exported.parts() == set()
    path = exported.folder / "adapter_config.json"
    content = json.loads(path.read_text())
    content["use_rslora"] = True
    path.write_text(json.dumps(content))
    assert exported.parts() == {"scale"}


def test_a_merge_without_alpha_over_r_is_red(tmp_path: Path) -> None:
    exported = _export(tmp_path, "merged", "float32")
    wrong = replace(exported.source, recipe=msgspec.structs.replace(exported.source.recipe, lora_alpha=4.0))
    assert math.isclose(wrong.adapter_scale, 1.0)
    write_merged(wrong, exported.folder, _nothing)
    assert {"tensor", "logits"} <= exported.parts()


def test_a_missing_tensor_is_red(tmp_path: Path) -> None:
    exported = _export(tmp_path, "merged", "float32")
    file = open_weights(exported.folder)
    entries = [each.entries[name] for name, each in file.items() if "layers.1.mlp.up_proj" not in name]
    arrays = {name: np.array(each.read(name)) for name, each in file.items()}
    write_safetensors(exported.folder / "model.safetensors", entries, lambda e: arrays[e.name], {"format": "pt"})
    assert "tensor" in exported.parts()
