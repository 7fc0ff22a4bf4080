"""Which model this is, without reading all of it: a hash over config.json, the headers of the safetensors files, and a
few bytes out of the middle of every tensor, by which a fine-tuned copy differs from its base."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from engine.protocol.errors import SurroundingsError

_LONGEST_HEADER = 100 * 2**20
_SAMPLE_BYTES = 64


def model_hash(folder: Path) -> str:
    """SHA-256 over names, sizes, headers (tensor names, shapes, dtypes, places) and samples. One short read a tensor.

    Errors: no_config, no_weights, bad_safetensors, each naming the file.
    """
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
        digest.update(_header_and_samples(file))
    return digest.hexdigest()


def _header_and_samples(file: Path) -> bytes:
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= min(_LONGEST_HEADER, size - 8):
            raise _not_whole(file)
        header = stream.read(length)
        parts = [header]
        for middle in _middles(file, header):
            stream.seek(8 + length + middle)
            parts.append(stream.read(_SAMPLE_BYTES))
    return b"".join(parts)


def _middles(file: Path, header: bytes) -> list[int]:
    """Where the middle of each tensor lies, counted from the end of the header, in the order of the file."""
    try:
        tensors = [entry for name, entry in json.loads(header).items() if name != "__metadata__"]
        return sorted((int(start) + int(end)) // 2 for start, end in (entry["data_offsets"] for entry in tensors))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _not_whole(file) from None


def _not_whole(file: Path) -> SurroundingsError:
    return SurroundingsError(
        "bad_safetensors", f"{file.name} is not a whole safetensors file.", "Download it again.", where=str(file)
    )
