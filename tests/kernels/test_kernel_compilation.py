"""Every kernel compiles for every architecture that we support, without a GPU; and its spec tells the truth of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from engine.kernels.catalogue import CATALOGUE, catalogue_of
from engine.kernels.compile import OPTIONS, headers, source_text, sources
from engine.kernels.nvrtc import Nvrtc, find_library
from engine.kernels.spec import Kind
from engine.protocol.errors import Bug

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_120a", "sm_121a")
_DECLARATION = re.compile(r'extern "C" __global__ void\s*(?:__\w+__\([^)]*\)\s*)*\s*(\w+)\(([^)]*)\)')
_KINDS: dict[str, Kind] = {"int": "int32", "unsigned": "uint32", "long long": "int64", "float": "float32"}


@cache
def compiler() -> Nvrtc:
    return Nvrtc(find_library())


def declared() -> Iterator[tuple[str, str, list[tuple[str, Kind]]]]:
    """(file, kernel, [(parameter, kind)]) as the CUDA files say."""
    for file in sources():
        for name, text in _DECLARATION.findall(source_text(file)):
            parameters: list[tuple[str, Kind]] = []
            for each in text.split(","):
                declaration, parameter = each.strip().rsplit(" ", 1)
                kind = "pointer" if parameter.startswith("*") else _KINDS[declaration]
                parameters.append((parameter.lstrip("*"), kind))
            yield file, name, parameters


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_compiles(architecture: str) -> None:
    found = headers()
    for file in sources():
        options = (f"--gpu-architecture={architecture}", *OPTIONS)
        cubin = compiler().compile(file, source_text(file), found, options)
        names = [name for in_file, name, _ in declared() if in_file == file]
        assert names
        for name in names:
            assert f".text.{name}\0".encode() in cubin, f"{name} is not in the cubin of {file}"


def test_specs_and_files_declare_the_same_kernels() -> None:
    in_files = {name: (file, parameters) for file, name, parameters in declared()}
    in_specs = {s.name: (s.file, [(p.name, p.kind) for p in s.parameters]) for s in CATALOGUE.values()}
    assert in_specs == in_files


def test_each_file_opens_with_its_mathematics_layouts_and_grid() -> None:
    for file in sources():
        opening = source_text(file).split("#include")[0]
        assert all(word in opening for word in ("Layout:", "Grid:")), file
        assert all(line.startswith("//") for line in opening.strip().splitlines()), file


def test_a_kernel_described_twice_is_refused() -> None:
    spec = CATALOGUE["add"]
    with pytest.raises(Bug, match="'add' is described twice"):
        catalogue_of([spec, spec])


def test_no_cuda_header_is_needed() -> None:
    """Only our own headers: a machine with a driver and the compiler's wheel can build everything."""
    ours = set(headers())
    for text in (*(source_text(file) for file in sources()), *headers().values()):
        assert set(re.findall(r"#include\s+[\"<](.+?)[\">]", text)) <= ours
