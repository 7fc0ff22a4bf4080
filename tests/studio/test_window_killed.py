"""The window is killed at each of its writes, and at random moments: the home stays whole (see window_chores.py)."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from engine.protocol.errors import EngineError
from engine.protocol.files import Disk, use_disk
from studio.home import open_home
from studio.recipes.library import RecipeLibrary
from studio.runs.user_file import UserData, change_user, read_user, write_user
from studio.settings import SettingsFile
from tests.helpers.plans import small_recipe
from tests.helpers.window_chores import check, chores

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="posix: killing by signal is POSIX's")


def run_chores(*arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.window_chores", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def test_killed_at_each_write_sync_and_rename(tmp_path: Path) -> None:
    killed = run_chores(str(tmp_path / "home"), "each")
    assert killed > 20  # recipe, plan and user of two launches, renames, settings, a recipe, a deletion


def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    assert run_chores(str(tmp_path / "home"), "random", "20", str(seed)) == 20


class FullDisk(Disk):
    """Fails at the n-th write, as a full disk does."""

    def __init__(self, number: int) -> None:
        self.left = number

    def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
        self.left -= 1
        if self.left == 0:
            super().write(file, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(file, data)


@pytest.mark.scenario("S21")
def test_a_full_disk_is_an_error_and_leaves_no_half_file(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        disk = FullDisk(number)
        try:
            with use_disk(disk):
                chores(tmp_path / "home")
        except (OSError, EngineError):
            check(tmp_path / "home")
            left = list((tmp_path / "home").rglob("*.tmp"))
            assert left == []
        if disk.left > 0:  # there was no n-th write
            break
    assert number > 10


def test_a_failed_replace_keeps_the_old_file(tmp_path: Path) -> None:
    home = open_home(tmp_path)
    folder = home.run("20261201T110203-AAAA")
    folder.create()
    write_user(folder, UserData("old"))
    SettingsFile(home.settings).change(theme="dark")
    with use_disk(FullDisk(1)), pytest.raises(OSError, match="space"):
        change_user(folder, name="new")
    with use_disk(FullDisk(1)), pytest.raises(OSError, match="space"):
        SettingsFile(home.settings).change(theme="light")
    with use_disk(FullDisk(1)), pytest.raises(OSError, match="space"):
        RecipeLibrary(home.recipes).save(small_recipe(tmp_path), "new")
    assert read_user(folder).name == "old"
    assert SettingsFile(home.settings).load().theme == "dark"
    assert list(home.recipes.iterdir()) == []
