"""Tokenizer, template and configuration go along unchanged, but for a template that the recipe chose instead."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from engine.training.export.source import LICENCE_FILES, MODEL_FILES, TOKENIZER_FILES, ExportSource


def copy_tokenizer(source: ExportSource, folder: Path) -> None:
    """The tokenizer's files and the chat template that the checkpoint was trained with."""
    _copy(source.base, folder, TOKENIZER_FILES)
    if source.template is None:
        return
    (folder / "chat_template.jinja").write_text(source.template, encoding="utf-8")
    settings = folder / "tokenizer_config.json"
    if settings.is_file():
        content = json.loads(settings.read_text(encoding="utf-8"))
        if content.pop("chat_template", None) is not None:
            settings.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")


def copy_configuration(source: ExportSource, folder: Path) -> None:
    """The model's configuration and its licence texts."""
    _copy(source.base, folder, (*MODEL_FILES, *LICENCE_FILES))


def _copy(base: Path, folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        if (base / name).is_file():
            shutil.copyfile(base / name, folder / name)
