"""Which model this is, without reading its weights: a hash over config.json and the headers of safetensors files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from engine.protocol.errors import SurroundingsError

_LONGEST_HEADER = 100 * 2**20


def model_hash(folder: Path) -> str:
    """SHA-256 over names, sizes and headers (tensor names, shapes, dtypes, places). Errors: no_config, no_weights,
    bad_safetensors, each naming the file."""
    config = folder / "config.json"
    if not config.is_file():
        raise SurroundingsError(
            "no_config", f"{folder} has no config.json.", "Choose a model folder.", where=str(config)
        )
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise SurroundingsError(
            "no_weights", f"{folder} has no safetensors file.", "Download the model's weights.", where=str(folder)
        )
    digest = hashlib.sha256(config.read_bytes())
    for file in files:
        digest.update(f"{file.name} {file.stat().st_size}".encode())
        digest.update(_header(file))
    return digest.hexdigest()


def _header(file: Path) -> bytes:
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= min(_LONGEST_HEADER, file.stat().st_size - 8):
            raise SurroundingsError(
                "bad_safetensors",
                f"{file.name} is not a whole safetensors file.",
                "Download it again.",
                where=str(file),
            )
        return stream.read(length)
