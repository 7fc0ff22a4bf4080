"""The machine as the planner sees it, and the doctor."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from engine.planner.machine import DeviceSpec
from studio.home import open_home
from studio.machine.doctor import examine, versions
from studio.machine.gpus import Gpus
from studio.machine.limits import GroupLimits, group_limits, kills_for_memory
from studio.machine.probe import probe


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".", 1)).write_text(content)


def test_the_tightest_limit_of_all_groups_around_us_counts(tmp_path: Path) -> None:
    root, membership = tmp_path / "cgroup", tmp_path / "membership"
    membership.write_text("0::/user/session\n")
    write(root, memory_max="max", cpu_max="max 100000")
    write(
        root / "user", memory_max="4000", memory_current="1500", memory_stat="inactive_file 500\nanon 9",
        cpu_max="250000 100000",
    )  # fmt: skip
    write(root / "user" / "session", memory_max="max", memory_current="7", cpu_max="400000 100000")
    assert group_limits(root, membership) == GroupLimits(4000, 1000, 2.5)


def test_kills_for_memory_are_counted(tmp_path: Path) -> None:
    root, membership = tmp_path / "cgroup", tmp_path / "membership"
    membership.write_text("0::/user\n")
    write(root / "user", memory_events="low 0\noom 4\noom_kill 2\n")
    assert kills_for_memory(root, membership) == 2
    assert kills_for_memory(tmp_path / "none", membership) == 0


def test_version_1_limits_are_read_and_its_idea_of_no_limit_is_none(tmp_path: Path) -> None:
    root, membership = tmp_path / "cgroup", tmp_path / "membership"
    membership.write_text("4:memory:/docker/abc\n0::/\n")
    folder = root / "memory" / "docker" / "abc"
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("9223372036854771712")
    assert group_limits(root, membership).memory_bytes is None
    (folder / "memory.limit_in_bytes").write_text("2000000")
    (folder / "memory.usage_in_bytes").write_text("600000")
    assert group_limits(root, membership) == GroupLimits(2000000, 600000, None)


def test_no_groups_are_no_limits(tmp_path: Path) -> None:
    assert group_limits(tmp_path / "none", tmp_path / "none too") == GroupLimits()


def test_a_limit_below_the_machines_memory_is_its_capacity(tmp_path: Path) -> None:
    machine = probe(tmp_path, limits=GroupLimits(1 << 30, 1 << 28, 1.5), gpus=Gpus())
    assert (machine.memory_bytes, machine.cores) == (1 << 30, 1)
    assert machine.other_bytes >= 1 << 28
    free = probe(tmp_path / "not" / "yet", limits=GroupLimits(), gpus=Gpus())
    assert free.memory_bytes == psutil.virtual_memory().total
    assert free.disk_free_bytes > 0


def test_the_doctor_says_what_it_found_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = open_home(tmp_path)
    monkeypatch.setattr("studio.machine.doctor.find_gpus", lambda: Gpus(problem="no_driver"))
    checks = {check.id: check for check in examine(home, {})}
    assert set(checks) == {"python", "torch", "gpu", "pycuda", "memory", "disk", "home", "display"}
    assert checks["gpu"].state == "attention"
    assert checks["gpu"].remedy_code == "doctor.install_driver"
    assert checks["display"].state == "attention"
    assert checks["home"].state == "good"
    assert all(check.remedy for check in checks.values() if check.state in ("attention", "bad"))
    card = Gpus((DeviceSpec(name="Card", capacity_bytes=48 << 30),), "580.1")
    monkeypatch.setattr("studio.machine.doctor.find_gpus", lambda: card)
    with_card = {check.id: check for check in examine(home, {"DISPLAY": ":0"})}
    assert with_card["gpu"].found == "Card (48.0 GiB), driver 580.1"
    assert with_card["display"].state == "good"


def test_the_hub_is_asked_only_on_demand_and_its_silence_is_not_fatal(tmp_path: Path) -> None:
    checks = examine(open_home(tmp_path), {}, hub_address="http://127.0.0.1:9")
    assert checks[-1].id == "hub"
    assert checks[-1].state == "attention"
    assert "torch" in versions()
