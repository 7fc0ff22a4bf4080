"""The folders that an export writes, read by transformers and peft themselves."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.protocol.errors import SurroundingsError
from engine.training.checkpoint import checkpoint_hash
from engine.training.export.merged import shards, write_merged
from engine.training.export.model_card import model_card
from engine.training.export.peft_adapter import adapter_configuration, require_adapter, write_adapter
from engine.training.export.source import ExportSource
from engine.training.model_folder import check_tied_head, open_weights
from engine.training.safetensors_file import SafetensorsFile, TensorEntry, write_safetensors
from tests.helpers.tiny_checkpoints import export_source
from tests.helpers.tiny_models import write_tiny_llama, write_tiny_qwen3

# peft 0.21 still asks transformers 5 by the old name.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")

IDS = torch.tensor([[5, 60, 61, 62, 90, 17]])


def _logits(folder: Path, adapter: Path | None = None) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter)
    with torch.no_grad():
        logits: torch.Tensor = model(IDS).logits
    return logits


def _nothing(done: int, total: int) -> None:
    pass


@pytest.mark.parametrize("settings", [{}, {"use_rslora": True}, {"lora_targets": ("q_proj", "down_proj")}])
def test_merged_equals_base_plus_adapter_as_peft_computes_it(tmp_path: Path, settings: dict[str, object]) -> None:
    base = write_tiny_llama(tmp_path / "base")
    source = export_source(tmp_path, base, lora_rank=4, lora_alpha=6.0, **settings)
    (tmp_path / "adapter").mkdir()
    (tmp_path / "merged").mkdir()
    write_adapter(source, tmp_path / "adapter")
    write_merged(source, tmp_path / "merged", _nothing)
    with_adapter = _logits(base, tmp_path / "adapter")
    merged = _logits(tmp_path / "merged")
    assert (with_adapter - _logits(base)).abs().max() > 0.05  # the adapter does something
    assert torch.allclose(merged, with_adapter, atol=1e-5)  # fp32: only the order of the sums differs


def test_bf16_weights_are_rounded_once_and_untouched_tensors_keep_their_bytes(tmp_path: Path) -> None:
    base = write_tiny_qwen3(tmp_path / "base", dtype="bfloat16")
    source = export_source(tmp_path, base, lora_rank=4, lora_targets=("v_proj",))
    (tmp_path / "merged").mkdir()
    write_merged(source, tmp_path / "merged", _nothing)
    before, after = open_weights(base), open_weights(tmp_path / "merged")
    assert before.keys() == after.keys()
    adapter = SafetensorsFile(source.checkpoint / "adapter_model.safetensors")
    for name in before:
        old, new = before[name], after[name]
        assert new.entries[name].dtype == "BF16"
        if "v_proj" not in name:
            assert (old.read(name) == new.read(name)).all()
            continue
        module = "base_model.model." + name.removesuffix(".weight")
        a, b = (torch.from_numpy(adapter.read_float32(f"{module}.lora_{x}.weight")) for x in "AB")
        exact = torch.from_numpy(old.read_float32(name)) + (32 / 4) * (b @ a)
        difference = (exact.bfloat16().float() - torch.from_numpy(new.read_float32(name))).abs()
        assert difference.max() <= 2.0**-8 * exact.abs().max()  # a tie may round the other way, no more


def test_full_fine_tuning_merges_to_the_trained_weights_in_shards(tmp_path: Path) -> None:
    base = write_tiny_llama(tmp_path / "base", shards=2)
    source = export_source(tmp_path, base, method="full")
    (tmp_path / "merged").mkdir()
    seen: list[tuple[int, int]] = []
    write_merged(source, tmp_path / "merged", lambda d, t: seen.append((d, t)), maximum_shard_bytes=40_000)
    trained = SafetensorsFile(source.checkpoint / "model.safetensors")
    index = json.loads((tmp_path / "merged" / "model.safetensors.index.json").read_text())
    assert len(set(index["weight_map"].values())) > 2
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, torch.from_numpy(trained.read_float32(name)))
    assert seen[-1][0] == seen[-1][1] == index["metadata"]["total_size"]


def _store_the_head_too(base: Path, factor: float = 1.0) -> None:
    """As some tied models do: the embedding a second time, as `lm_head.weight`."""
    file = SafetensorsFile(base / "model.safetensors")
    arrays = {name: np.array(file.read(name)) for name in file.entries}
    arrays["lm_head.weight"] = (arrays["model.embed_tokens.weight"] * np.float32(factor)).astype(np.float32)
    entries = [TensorEntry(name, "F32", array.shape) for name, array in arrays.items()]
    write_safetensors(base / "model.safetensors", entries, lambda entry: arrays[entry.name], {"format": "pt"})


def test_a_tied_head_that_is_stored_too_does_not_survive_untrained(tmp_path: Path) -> None:
    base = write_tiny_llama(tmp_path / "base", tie_word_embeddings=True)
    source = export_source(tmp_path, base, method="full")  # the checkpoint holds the embedding alone
    _store_the_head_too(base)
    (tmp_path / "merged").mkdir()
    write_merged(source, tmp_path / "merged", _nothing)
    assert "lm_head.weight" not in open_weights(tmp_path / "merged")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32)
    trained = SafetensorsFile(source.checkpoint / "model.safetensors").read_float32("model.embed_tokens.weight")
    assert torch.equal(model.lm_head.weight, torch.from_numpy(trained))


@pytest.mark.parametrize(("factor", "is_refused"), [(1.0, False), (1.5, True)])
def test_a_tied_model_whose_files_hold_another_head_is_refused(tmp_path: Path, factor: float, is_refused: bool) -> None:
    base = write_tiny_llama(tmp_path / "base", tie_word_embeddings=True)
    _store_the_head_too(base, factor)
    files = open_weights(base)
    with pytest.raises(SurroundingsError, match="two different tensors") if is_refused else contextlib.nullcontext():
        check_tied_head(files, "lm_head.weight", "model.embed_tokens.weight")


def test_a_broken_index_of_shards_is_named(tmp_path: Path) -> None:
    base = write_tiny_llama(tmp_path / "base", shards=2)
    (base / "model.safetensors.index.json").write_text('{"weight_map": {"a": ')
    with pytest.raises(SurroundingsError) as caught:
        open_weights(base)
    assert caught.value.code == "weights_index_broken"


def test_tokenizer_template_and_configuration_go_along(tmp_path: Path) -> None:
    base = write_tiny_llama(tmp_path / "base")
    (base / "modeling_evil.py").write_text("raise SystemExit")
    plain = export_source(tmp_path, base)
    source = ExportSource(**{**vars(plain), "template": "{{ messages[0]['content'] }}!"})
    folder = tmp_path / "merged"
    folder.mkdir()
    write_merged(source, folder, _nothing)
    assert not list(folder.glob("*.py"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert text == "hi!"
    assert (folder / "config.json").read_text() == (base / "config.json").read_text()


@pytest.mark.scenario("S32")
def test_the_card_names_run_step_and_hash(tmp_path: Path) -> None:
    source = export_source(tmp_path, write_tiny_llama(tmp_path / "base"), name="Pirate")
    for export_format in ("peft", "merged"):
        card = model_card(source, export_format)
        assert "step 12" in card
        assert checkpoint_hash(source.checkpoint) in card
        assert "Pirate (20261201T110203-K7QF)" in card
        assert str(tmp_path) not in card


def test_the_adapter_configuration_says_what_was_trained(tmp_path: Path) -> None:
    base = write_tiny_llama(tmp_path / "base")
    source = export_source(tmp_path, base, lora_rank=8, lora_alpha=4.0, lora_dropout=0.1, use_rslora=True)
    content = adapter_configuration(source)
    assert (content["r"], content["lora_alpha"], content["lora_dropout"], content["use_rslora"]) == (8, 4, 0.1, True)
    assert source.adapter_scale == pytest.approx(4 / 8**0.5)


def test_full_fine_tuning_has_no_adapter(tmp_path: Path) -> None:
    source = export_source(tmp_path, write_tiny_llama(tmp_path / "base"), method="full")
    with pytest.raises(SurroundingsError) as caught:
        require_adapter(source)
    assert caught.value.code == "no_adapter"


def test_a_tensor_larger_than_a_shard_gets_its_own() -> None:
    entries = [TensorEntry(name, "F32", (size,)) for name, size in (("a", 1), ("b", 100), ("c", 1), ("d", 1))]
    groups = [[entry.name for entry in group] for group in shards(entries, 40)]
    assert groups == [["a"], ["b"], ["c", "d"]]
