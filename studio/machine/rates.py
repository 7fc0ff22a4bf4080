"""How fast this machine is, as the engine measured it: kept in the cache, used by every plan after that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from engine.planner.machine import MachineSpec
from engine.protocol.errors import SurroundingsError
from engine.protocol.files import write_atomically
from studio.engine_job import EngineJob, new_log
from studio.home import Home


class MeasuredRates(msgspec.Struct, frozen=True):
    """Valid for that processor with that many cores."""

    processor: str
    cores: int
    matmul_flops: float
    memory_bandwidth: float


class RatesFile:
    """`cache/machine.json`, and the engine's `probe` that fills it."""

    def __init__(self, home: Home, environment: Callable[[], Mapping[str, str]], engine_command: Sequence[str]) -> None:
        self._path = home.root / "cache" / "machine.json"
        self._logs = home.logs
        self._environment = environment
        self._engine_command = list(engine_command)

    def apply(self, machine: MachineSpec) -> MachineSpec:
        """The machine with its measured rates; as it is where none were measured for it."""
        rates = self._read()
        if rates is None or (rates.processor, rates.cores) != (machine.name, machine.cores):
            return machine
        return replace(machine, matmul_flops=rates.matmul_flops, memory_bandwidth=rates.memory_bandwidth, measured=True)

    def measure(self, machine: MachineSpec) -> MachineSpec:
        """Run the engine's probe (a few seconds, blocking) and keep what it found. Raises SurroundingsError."""
        job = EngineJob(
            [*self._engine_command, "probe"], environment=self._environment(), log=new_log(self._logs, "probe"),
            keep_log=False,
        )  # fmt: skip
        lines: list[bytes] = []
        try:
            job.wait()
            lines = job.log.read_bytes().splitlines()
        finally:
            job.close()
        found = next((spec for line in reversed(lines) if (spec := _spec(line)) is not None), None)
        if found is None:
            raise SurroundingsError("probe.silent", "The engine measured nothing.", "Try again.")
        rates = MeasuredRates(machine.name, machine.cores, found.matmul_flops, found.memory_bandwidth)
        write_atomically(self._path, msgspec.json.encode(rates))
        return self.apply(machine)

    def _read(self) -> MeasuredRates | None:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=MeasuredRates)
        except (OSError, msgspec.MsgspecError):
            return None


def _spec(line: bytes) -> MachineSpec | None:
    try:
        return msgspec.json.decode(line, type=MachineSpec)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
