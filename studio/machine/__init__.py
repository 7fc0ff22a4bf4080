from engine.planner.machine import DeviceSpec, MachineSpec

__all__ = ["DeviceSpec", "MachineSpec"]
