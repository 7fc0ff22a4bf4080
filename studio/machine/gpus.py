"""NVIDIA GPUs as the driver tells of them. No driver, no GPUs: that is a fact, not an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pynvml  # type: ignore[import-untyped]  # NVIDIA ships no types

from engine.planner.machine import DeviceSpec


class Gpus(msgspec.Struct, frozen=True):
    """`problem` says why there are none: "" (there are some), "no_driver", "no_device", or the driver's own words."""

    devices: tuple[DeviceSpec, ...] = ()
    driver: str = ""
    problem: str = ""


def find_gpus() -> Gpus:
    """Ask the driver. Nothing is created on a device."""
    try:
        with _driver():
            version = str(pynvml.nvmlSystemGetDriverVersion())
            devices = tuple(_device(index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError as error:
        missing = isinstance(error, pynvml.NVMLError_LibraryNotFound | pynvml.NVMLError_DriverNotLoaded)
        return Gpus(problem="no_driver" if missing else str(error))
    return Gpus(devices, version, "" if devices else "no_device")


@contextmanager
def _driver() -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()


def _device(index: int) -> DeviceSpec:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    return DeviceSpec(
        name=str(pynvml.nvmlDeviceGetName(handle)),
        capacity_bytes=int(memory.total),
        other_bytes=int(memory.used),
        architecture=f"sm_{major}{minor}",
    )
