"""The cubin cache: compiled once, found again, never wrong; and a compiler's complaint reaches the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from engine.kernels import nvrtc
from engine.kernels.catalogue import CATALOGUE
from engine.kernels.compile import CubinCache, architecture_of, digest_of
from engine.kernels.nvrtc import Nvrtc, find_library
from engine.protocol.errors import Bug, SurroundingsError

GOOD = 'extern "C" __global__ void one(int *x) { *x = 1; }'


class CountingCompiler(Nvrtc):
    """The real compiler, counting."""

    def __init__(self) -> None:
        super().__init__(find_library())
        self.compiled = 0

    def compile(self, name: str, source: str, headers: Mapping[str, str], options: Sequence[str]) -> bytes:
        self.compiled += 1
        return super().compile(name, source, headers, options)


@cache
def _shared_compiler() -> CountingCompiler:
    return CountingCompiler()


@pytest.fixture
def compiler() -> CountingCompiler:
    found = _shared_compiler()
    found.compiled = 0
    return found


def test_a_cubin_is_compiled_once_and_found_by_the_next_process(tmp_path: Path, compiler: CountingCompiler) -> None:
    first = CubinCache(tmp_path / "cubin", compiler).compiled("one.cu", GOOD, "sm_90")
    second = CubinCache(tmp_path / "cubin", compiler).compiled("one.cu", GOOD, "sm_90")
    assert first == second and first.startswith(b"\x7fELF")
    assert compiler.compiled == 1
    assert len(list((tmp_path / "cubin").iterdir())) == 1


def test_source_options_and_architecture_make_another_cubin(tmp_path: Path, compiler: CountingCompiler) -> None:
    cache = CubinCache(tmp_path, compiler)
    cache.compiled("one.cu", GOOD, "sm_90")
    cache.compiled("one.cu", GOOD, "sm_80")
    cache.compiled("one.cu", GOOD + "\n", "sm_90")
    cache.compiled("one.cu", GOOD, "sm_90", ("--std=c++17",))
    assert compiler.compiled == 4 and len(list(tmp_path.iterdir())) == 4


def test_headers_and_the_compilers_release_are_part_of_the_name() -> None:
    names = {
        digest_of(("nvrtc 13.0", "sm_90"), "a", {"h": "1"}),
        digest_of(("nvrtc 13.1", "sm_90"), "a", {"h": "1"}),
        digest_of(("nvrtc 13.0", "sm_90"), "a", {"h": "2"}),
        digest_of(("nvrtc 13.0", "sm_90"), "ah", {"": "1"}),
    }
    assert len(names) == 4


def test_what_is_no_cubin_is_made_again(tmp_path: Path, compiler: CountingCompiler) -> None:
    good = CubinCache(tmp_path, compiler).compiled("one.cu", GOOD, "sm_90")
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"\0" * 100)
    assert CubinCache(tmp_path, compiler).compiled("one.cu", GOOD, "sm_90") == good
    assert path.read_bytes() == good


def test_a_broken_source_shows_the_compilers_log(tmp_path: Path, compiler: CountingCompiler) -> None:
    broken = 'extern "C" __global__ void one(int *x) { *x = undeclared_name; }'
    with pytest.raises(Bug) as caught:
        CubinCache(tmp_path, compiler).compiled("broken.cu", broken, "sm_90")
    assert caught.value.code == "kernel_compile"
    assert 'broken.cu(1): error: identifier "undeclared_name" is undefined' in caught.value.message
    assert "sm_90" in caught.value.message
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, compiler: CountingCompiler) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SurroundingsError) as caught:
        CubinCache(tmp_path / "file" / "cubin", compiler).compiled("one.cu", GOOD, "sm_90")
    assert caught.value.code == "cubin_cache_unwritable" and str(tmp_path) in caught.value.message


def test_a_missing_compiler_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_PLACES", ("nowhere/*",))
    with pytest.raises(SurroundingsError, match="pip install nvidia-cuda-nvrtc"):
        find_library()


def test_a_library_that_is_none_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "libnvrtc.so.13").write_bytes(b"not a library")
    with pytest.raises(SurroundingsError, match="force-reinstall"):
        Nvrtc(tmp_path / "libnvrtc.so.13")


def test_the_architecture_follows_from_the_device_and_the_spec() -> None:
    spec = CATALOGUE["add"]
    assert architecture_of((9, 0), spec) == "sm_90"
    assert architecture_of((12, 1), spec) == "sm_121"
    with pytest.raises(SurroundingsError, match=r"7\.5"):
        architecture_of((7, 5), spec)
