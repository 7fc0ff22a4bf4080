"""Kernel file + options + architecture → cubin, compiled once and kept.

A cubin's name in the cache is the SHA-256 of everything that it depends on: compiler, architecture, options, source and
headers. Nothing is ever overwritten with something else, so processes may share a folder, and an update of the app or
of the compiler leaves old cubins unread rather than wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from engine.kernels.nvrtc import CompileFailure, Nvrtc
from engine.kernels.spec import KernelSpec
from engine.protocol.errors import Bug, SurroundingsError
from engine.protocol.files import write_atomically

# Line numbers cost nothing at run time and give compute-sanitizer and Nsight the place in the source.
OPTIONS = ("--std=c++17", "--generate-line-info")
_ELF = b"\x7fELF"


def sources() -> tuple[str, ...]:
    """The names of all kernel files."""
    return tuple(sorted(each.name for each in resources.files("engine.kernels").iterdir() if each.name.endswith(".cu")))


def source_text(file: str) -> str:
    """The text of one kernel file."""
    return (resources.files("engine.kernels") / file).read_text(encoding="utf-8")


def headers() -> dict[str, str]:
    """All headers by the name that kernels include them by."""
    folder = resources.files("engine.kernels") / "include"
    found = {each.name: each for each in folder.iterdir() if each.name.endswith(".cuh")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def architecture_of(capability: tuple[int, int], spec: KernelSpec) -> str:
    """The architecture to compile `spec` for on a device of this compute capability, such as (9, 0) → "sm_90"."""
    major, minor = capability
    if 10 * major + minor < spec.minimum_capability:
        raise SurroundingsError(
            "gpu_too_old",
            f"This GPU has compute capability {major}.{minor}, but {spec.minimum_capability / 10} is needed.",
            "Use an NVIDIA GPU of the Ampere generation (RTX 30, A100) or newer.",
        )
    return f"sm_{major}{minor}{spec.feature}"


class CubinCache:
    """Cubins in a folder, made where they are missing. The folder is created on the first write."""

    def __init__(self, folder: Path, compiler: Nvrtc) -> None:
        self._folder = folder
        self._compiler = compiler
        self._headers = headers()

    def cubin(self, file: str, architecture: str) -> bytes:
        """The cubin of one of our kernel files."""
        return self.compiled(file, source_text(file), architecture)

    def compiled(self, name: str, source: str, architecture: str, options: tuple[str, ...] = OPTIONS) -> bytes:
        """The cubin of `source`. Bug with the compiler's log where it does not compile; SurroundingsError where the
        folder cannot be written."""
        path = self._folder / f"{self._digest(source, architecture, options)}.cubin"
        kept = _read(path)
        if kept is not None:
            return kept
        cubin = self._compile(name, source, architecture, options)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, cubin)
        except OSError as error:
            raise SurroundingsError(
                "cubin_cache_unwritable",
                f"Compiled GPU kernels could not be kept in {self._folder}: {error.strerror}.",
                "Free some space there, or choose another home folder.",
            ) from error
        return cubin

    def _compile(self, name: str, source: str, architecture: str, options: tuple[str, ...]) -> bytes:
        try:
            return self._compiler.compile(name, source, self._headers, (f"--gpu-architecture={architecture}", *options))
        except CompileFailure as failure:
            raise Bug(
                "kernel_compile",
                f"The GPU kernels of {name} do not compile for {architecture} with {self._compiler.identity}:\n"
                f"{failure.log}",
                "Please report this with the whole message.",
                where=name,
            ) from failure

    def _digest(self, source: str, architecture: str, options: tuple[str, ...]) -> str:
        return digest_of((self._compiler.identity, architecture, *options), source, self._headers)


def digest_of(settings: tuple[str, ...], source: str, included: Mapping[str, str]) -> str:
    """SHA-256 of all parts, each preceded by its length, so that no two lists of parts look alike."""
    found = hashlib.sha256()
    for part in (*settings, source, *(text for pair in included.items() for text in pair)):
        raw = part.encode()
        found.update(len(raw).to_bytes(8, "little"))
        found.update(raw)
    return found.hexdigest()


def _read(path: Path) -> bytes | None:
    """A kept cubin; None where none can be read, or where what is there is none (a damaged disk)."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    return raw if raw.startswith(_ELF) else None
