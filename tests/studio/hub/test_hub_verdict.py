"""S22: a model that cannot be trained says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # Any: config.json is plain JSON

import pytest

from engine.models import registry
from studio.hub.details import parse_config
from studio.hub.verdict import judge, judge_summary

WHOLE = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def config(llama: Path) -> dict[str, Any]:
    parsed = parse_config((llama / "config.json").read_text(encoding="utf-8"))
    assert parsed is not None
    return parsed


def codes(config: dict[str, Any] | None, files: list[str]) -> list[str]:
    return [problem.code for problem in judge(config, files, registry).problems]


def test_a_whole_model_can_be_trained(config: dict[str, Any]) -> None:
    assert judge(config, WHOLE, registry).state == "trainable"


@pytest.mark.scenario("S22")
@pytest.mark.parametrize(
    ("files", "code", "argument"),
    [
        (["config.json", "pytorch_model.bin", "tokenizer.json"], "model_only_pickles", None),
        (["config.json", "model.Q4_K.gguf", "tokenizer.json"], "model_only_gguf", None),
        (["config.json", "model.safetensors", "tokenizer.model"], "model_only_tokenizer_model", None),
        (["config.json", "model.safetensors"], "model_file_missing", "tokenizer.json"),
        (["model.safetensors", "tokenizer.json"], "model_file_missing", "config.json"),
        (["config.json", "tokenizer.json"], "model_file_missing", "model.safetensors"),
        (["adapter_config.json", "adapter_model.safetensors", "tokenizer.json"], "model_is_adapter", None),
        (
            ["config.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json", "tokenizer.json"],
            "model_file_missing",
            "model-00002-of-00002.safetensors",
        ),
    ],
)
def test_what_is_missing_is_named(config: dict[str, Any], files: list[str], code: str, argument: str | None) -> None:
    verdict = judge(config if "config.json" in files else None, files, registry)
    assert verdict.state == "refused"
    assert verdict.problems[0].code == code
    assert verdict.problems[0].arguments.get("file") == argument
    assert verdict.problems[0].message and verdict.problems[0].remedy


@pytest.mark.scenario("S22")
def test_the_config_tells_what_is_not_supported(config: dict[str, Any]) -> None:
    foreign = {**config, "architectures": ["Mamba2ForCausalLM"], "model_type": "mamba2"}
    assert codes(foreign, WHOLE) == ["model_architecture_unsupported"]
    assert codes({**foreign, "auto_map": {"AutoModelForCausalLM": "modeling.Thing"}}, WHOLE) == ["model_remote_code"]
    assert codes({**config, "quantization_config": {"quant_method": "gptq"}}, WHOLE) == ["model_quantized"]
    classifier = {**config, "architectures": ["LlamaForSequenceClassification"]}
    assert codes(classifier, WHOLE) == ["model_architecture_unsupported"]


def test_code_under_a_known_name_is_refused_too(config: dict[str, Any]) -> None:
    assert codes({**config, "auto_map": {"AutoConfig": "x.Y"}}, WHOLE) == ["model_remote_code"]


@pytest.mark.scenario("S22")
def test_the_engines_own_reason_is_passed_on(config: dict[str, Any]) -> None:
    strange = {**config, "rope_scaling": {"rope_type": "no-such-thing", "factor": 2.0}}
    verdict = judge(strange, WHOLE, registry)
    assert verdict.state == "refused"
    assert "rope" in verdict.problems[0].message


def test_every_reason_is_given_at_once(config: dict[str, Any]) -> None:
    quantized = {**config, "quantization_config": {"quant_method": "awq"}}
    assert codes(quantized, ["config.json", "pytorch_model.bin"]) == [
        "model_quantized",
        "model_only_pickles",
        "model_file_missing",
    ]


def test_a_config_that_cannot_be_read_leaves_it_open() -> None:
    assert judge(None, WHOLE, registry).state == "unknown"


def test_a_search_row_is_judged_by_the_little_it_tells() -> None:
    brief = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    assert judge_summary(brief, ["safetensors"], registry).state == "trainable"
    assert judge_summary(None, ["safetensors"], registry).state == "unknown"
    assert [p.code for p in judge_summary(brief, [], registry).problems] == ["model_only_pickles"]
    assert [p.code for p in judge_summary(None, ["gguf"], registry).problems] == ["model_only_gguf"]
