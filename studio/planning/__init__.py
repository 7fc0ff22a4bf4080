from engine.planner.machine import DeviceSpec, MachineSpec
from engine.protocol.plan import (
    CATEGORIES,
    Budget,
    MemoryRow,
    Plan,
    Proposal,
    Reason,
    Timeline,
    Verdict,
)

__all__ = [
    "CATEGORIES",
    "Budget",
    "DeviceSpec",
    "MachineSpec",
    "MemoryRow",
    "Plan",
    "Proposal",
    "Reason",
    "Timeline",
    "Verdict",
]
