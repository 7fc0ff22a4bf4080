"""NVIDIA's run-time compiler by ctypes: CUDA C++ text → a cubin for one architecture. Needs no driver and no GPU.

The library is part of the PyPI package nvidia-cuda-nvrtc, which a CUDA build of torch brings along; nothing is taken
from a CUDA toolkit that may be installed, so that every machine compiles with the version that was tested.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.protocol.errors import Bug, SurroundingsError

# Where the wheels of CUDA 13 and 12 put it, beneath the namespace package `nvidia`.
_PLACES = (
    ("cu13/bin/x86_64/nvrtc64_*.dll", "cu13/bin/nvrtc64_*.dll", "cuda_nvrtc/bin/nvrtc64_*.dll")
    if sys.platform == "win32"
    else ("cu13/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
)
_SUCCESS = 0


class CompileFailure(Exception):
    """The compiler refused a program; `log` is what it said."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


def find_library() -> Path:
    """The compiler's library among the installed packages. SurroundingsError with the command that brings it."""
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations or () if package else ():
        for place in _PLACES:
            for found in sorted(Path(folder).glob(place)):
                if ".alt." not in found.name:
                    return found
    raise SurroundingsError(
        "nvrtc_missing",
        "NVIDIA's run-time compiler, which builds the GPU kernels, is not installed.",
        "Install it with: pip install nvidia-cuda-nvrtc",
    )


class Nvrtc:
    """The loaded compiler. `identity` changes with every release of it."""

    def __init__(self, library: Path) -> None:
        try:
            # The compiler opens its second library by bare name, which finds one that is loaded, and none otherwise.
            pattern = "nvrtc-builtins*.dll" if sys.platform == "win32" else "libnvrtc-builtins.so.*"
            self._builtins = [ctypes.CDLL(str(found)) for found in sorted(library.parent.glob(pattern))]
            self._library = ctypes.CDLL(str(library))
        except OSError as error:
            raise SurroundingsError(
                "nvrtc_unusable",
                f"NVIDIA's run-time compiler could not be loaded: {error}.",
                "Reinstall it with: pip install --force-reinstall nvidia-cuda-nvrtc",
            ) from error
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        # Two patch releases report one version; their libraries differ in size.
        self.identity = f"nvrtc {major.value}.{minor.value} {library.stat().st_size}"

    def compile(self, name: str, source: str, headers: Mapping[str, str], options: Sequence[str]) -> bytes:
        """The cubin of `source`, which may include `headers` by name. CompileFailure with the log where it is wrong."""
        program = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(each.encode() for each in headers))
        self._check(
            self._library.nvrtcCreateProgram(
                ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
            )
        )
        try:
            arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            if self._library.nvrtcCompileProgram(program, len(options), arguments) != _SUCCESS:
                raise CompileFailure(self._text(program, "ProgramLog").decode(errors="replace").rstrip("\0\n"))
            return self._text(program, "CUBIN")
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        """One of the program's results, by NVRTC's pair of functions for its size and its bytes."""
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw

    def _check(self, code: int) -> None:
        if code != _SUCCESS:
            said = self._library.nvrtcGetErrorString(code).decode()
            raise Bug("nvrtc_call", f"A call of NVIDIA's run-time compiler failed: {said}.", "Please report this.")
