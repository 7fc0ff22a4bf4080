"""Can this model be trained? Answered from config.json and the list of files, with every reason against it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from engine.protocol.errors import EngineError, Problem
from studio.hub import model_files
from studio.hub.records import Config, Verdict

MISSING = "model_file_missing"


class Architectures(Protocol):
    """What we ask the engine: `engine.models.registry` answers it."""

    def supported_architectures(self) -> Collection[str]:
        """Names as in config.json's `architectures`, such as `LlamaForCausalLM`."""
        ...

    def describe(self, config: Config) -> object:
        """The model's description; raises EngineError that says what about it is not supported."""
        ...


def judge(config: Config | None, files: Sequence[str], architectures: Architectures) -> Verdict:
    """The verdict on a model with this config.json (None: could not be read) and these files."""
    problems = [*_file_problems(files)]
    if config is not None:
        problems = [*_config_problems(config, architectures), *problems]
    elif model_files.CONFIG in files and not problems:
        return Verdict("unknown")
    return Verdict("refused" if problems else "trainable", tuple(problems))


def judge_summary(config: Config | None, tags: Collection[str], architectures: Architectures) -> Verdict:
    """The verdict on a search result, of which only a few keys of the config and the tags are known."""
    if "gguf" in tags and "safetensors" not in tags:
        return Verdict("refused", (_only_gguf(),))
    if not config:
        return Verdict("unknown")
    problems = [*_foreign_architecture(config, architectures), *_quantized(config)]
    if "safetensors" not in tags:
        problems.append(_no_safetensors())
    return Verdict("refused" if problems else "trainable", tuple(problems))


def architecture_of(config: Mapping[str, object]) -> str | None:
    """The first name of `architectures`."""
    names = config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else None


def _config_problems(config: Config, architectures: Architectures) -> list[Problem]:
    problems = _foreign_architecture(config, architectures)
    quantized = _quantized(config)
    if not problems and not quantized:
        try:
            architectures.describe(config)
        except EngineError as error:
            problems = [error.problem()]
    return [*problems, *quantized]


def _foreign_architecture(config: Config, architectures: Architectures) -> list[Problem]:
    name = architecture_of(config)
    shown = name or str(config.get("model_type"))
    if config.get("auto_map"):  # even under a known name its mathematics is whatever that code does
        return [
            Problem(
                "model_remote_code",
                f"{shown} brings its own Python code, and code from a repository is never run here.",
                "Choose a model that needs no code of its own.",
                arguments={"architecture": shown},
            )
        ]
    if name is None or name in architectures.supported_architectures():
        return []  # a config without `architectures` is left to `describe`
    supported = ", ".join(sorted(architectures.supported_architectures()))
    return [
        Problem(
            "model_architecture_unsupported",
            f"The architecture {shown} is not supported.",
            f"Supported: {supported}.",
            arguments={"architecture": shown, "supported": supported},
        )
    ]


def _quantized(config: Config) -> list[Problem]:
    settings = config.get("quantization_config")
    if not settings:
        return []
    method = str(settings.get("quant_method", "?")) if isinstance(settings, dict) else "?"
    return [
        Problem(
            "model_quantized",
            f"The weights are quantized ({method}); training starts from full weights.",
            "Choose the repository that this one was made from.",
            arguments={"format": method},
        )
    ]


def _file_problems(files: Sequence[str]) -> list[Problem]:
    problems = []
    if model_files.CONFIG not in files:
        problems.append(_no_config(files))
    if not model_files.weight_files(files):
        problems.append(_no_weights(files))
    problems.extend(missing_file(name) for name in model_files.missing_shards(files))
    if model_files.TOKENIZER not in files:
        problems.append(_no_tokenizer(files))
    return problems


def missing_file(name: str) -> Problem:
    """The reason for a file that the others promise."""
    return Problem(MISSING, f"The file {name} is missing.", "Download the model again.", arguments={"file": name})


def _no_config(files: Sequence[str]) -> Problem:
    if "adapter_config.json" in files:
        return Problem(
            "model_is_adapter", "This is an adapter, not a model.", "Choose the base model that it was trained on."
        )
    return missing_file(model_files.CONFIG)


def _no_weights(files: Sequence[str]) -> Problem:
    if model_files.has_safetensors(files):
        return missing_file("model.safetensors")
    if model_files.has_gguf(files):
        return _only_gguf()
    return _no_safetensors() if model_files.has_pickles(files) else missing_file("model.safetensors")


def _only_gguf() -> Problem:
    return Problem(
        "model_only_gguf",
        "Only GGUF files are here; they are quantized for use, not for training.",
        "Choose the repository that they were made from.",
    )


def _no_safetensors() -> Problem:
    return Problem(
        "model_only_pickles",
        "The weights are only here as Python pickles, which can run code when they are read.",
        "Choose a repository with safetensors.",
    )


def _no_tokenizer(files: Sequence[str]) -> Problem:
    if "tokenizer.model" in files:
        return Problem(
            "model_only_tokenizer_model",
            "The tokenizer is only here as tokenizer.model; tokenizer.json is needed.",
            "Choose a repository with tokenizer.json, or convert it once with transformers.",
        )
    return missing_file(model_files.TOKENIZER)
