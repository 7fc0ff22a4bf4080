"""Safetensors files as streams: one tensor in memory at a time, both when writing and when reading.

The library's own writer wants every tensor in memory at once, which doubles the peak when a checkpoint is made. The
format is small: eight bytes of header length, a JSON header, then the raw little-endian bytes one after another.
See https://github.com/huggingface/safetensors#format. bf16 has no NumPy dtype: here it is its bits as uint16.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.protocol.errors import SurroundingsError
from engine.protocol.files import disk

Array = NDArray[np.generic]

NUMPY_TYPES: Mapping[str, type[np.generic]] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}

WRITE_CHUNK_BYTES = 8 << 20
MAXIMUM_HEADER_BYTES = 100_000_000  # the format's own limit


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor of a file: its name, safetensors dtype (`F32`, `BF16`, …) and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(NUMPY_TYPES[self.dtype]).itemsize


def header_bytes(entries: Iterable[TensorEntry], metadata: Mapping[str, str]) -> bytes:
    """The length prefix and the JSON header, padded so that the data begins on a multiple of eight."""
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for entry in entries:
        end = offset + entry.bytes
        header[entry.name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_safetensors(
    path: Path,
    entries: list[TensorEntry],
    read: Callable[[TensorEntry], Array],
    metadata: Mapping[str, str],
) -> str:
    """Write a file tensor by tensor, asking `read` for each when its turn comes. Returns the sha256 in hex.

    The file is synced before it is closed. Raises OSError (the disk) or ValueError (`read` gave other bytes).
    """
    digest = hashlib.sha256()
    with path.open("wb") as file:

        def put(data: bytes | memoryview) -> None:
            digest.update(data)
            disk().write(file, data)

        put(header_bytes(entries, metadata))
        for entry in entries:
            array = np.ascontiguousarray(read(entry))
            if array.dtype != NUMPY_TYPES[entry.dtype] or array.size != math.prod(entry.shape):
                raise ValueError(f"{entry.name}: got {array.dtype}{array.shape}, expected {entry.dtype}{entry.shape}")
            raw = array.reshape(-1).view(np.uint8).data
            for start in range(0, len(raw), WRITE_CHUNK_BYTES):
                put(raw[start : start + WRITE_CHUNK_BYTES])
        disk().sync(file)
    return digest.hexdigest()


def _broken(path: Path, why: str) -> SurroundingsError:
    return SurroundingsError(
        "safetensors_broken", f"{path.name} is not a readable safetensors file: {why}.", "Download or save it again.",
        where=str(path),
    )  # fmt: skip


class SafetensorsFile:
    """The tensors of one file, mapped: reading one touches only its own pages."""

    def __init__(self, path: Path) -> None:
        """Read the header. Raises SurroundingsError("safetensors_broken"), or OSError where there is no such file."""
        self.path = path
        with path.open("rb") as file:
            prefix = file.read(8)
            length = int.from_bytes(prefix, "little")
            if len(prefix) < 8 or length > MAXIMUM_HEADER_BYTES:
                raise _broken(path, "its header is cut off or too long")
            try:
                header = json.loads(file.read(length))
                self.metadata: dict[str, str] = header.pop("__metadata__", {})
                self._offsets = {name: tuple(item["data_offsets"]) for name, item in header.items()}
                self.entries = {
                    name: TensorEntry(name, item["dtype"], tuple(item["shape"])) for name, item in header.items()
                }
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise _broken(path, f"its header cannot be parsed ({error})") from error
        self._data_start = 8 + length
        self._check_sizes()

    def _check_sizes(self) -> None:
        size = self.path.stat().st_size - self._data_start
        for name, entry in self.entries.items():
            start, end = self._offsets[name]
            if entry.dtype not in NUMPY_TYPES:
                raise _broken(self.path, f"{name} has the unknown type {entry.dtype}")
            if not 0 <= start <= end <= size or end - start != entry.bytes:
                raise _broken(self.path, f"{name} does not lie inside the file")

    def read(self, name: str) -> Array:
        """The tensor as a read-only array in its stored type (bf16 as uint16 bits). Raises KeyError."""
        entry = self.entries[name]
        start, _ = self._offsets[name]
        kind = NUMPY_TYPES[entry.dtype]
        if entry.bytes == 0:
            return np.empty(entry.shape, kind)
        # Memory maps need no alignment of the offset, and the pages are dropped with the array.
        return np.memmap(self.path, dtype=kind, mode="r", offset=self._data_start + start, shape=entry.shape or (1,)
        ).reshape(entry.shape)  # fmt: skip

    def read_float32(self, name: str) -> NDArray[np.float32]:
        """The tensor widened (or narrowed, for float64) to float32."""
        array = self.read(name)
        if self.entries[name].dtype == "BF16":
            return bfloat16_to_float32(array)
        return array.astype(np.float32)


def bfloat16_to_float32(bits: Array) -> NDArray[np.float32]:
    """Widen bf16 bits (uint16) to float32: exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def float32_to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to bf16 bits, nearest and ties to even; NaN stays a quiet NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)
