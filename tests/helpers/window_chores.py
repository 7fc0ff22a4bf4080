"""What a window writes, done by a process that is killed while it writes. A script: `window_chores.py HOME MODE`.

    each      do the chores again and again, killed at the 1st, 2nd, 3rd … write, sync or rename, until one survives
    random N  do the chores in a loop, killed after a random time, N times; the seed is the third argument

After each kill the home is opened as the next window would open it, and everything in it must be whole.
Prints how many times it was killed. Exits 1, with the reason, where something was not whole.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import IO

from engine.protocol.files import Disk, use_disk
from engine.protocol.plan import decode_plan
from engine.protocol.recipe import parse_recipe, recipe_hash
from studio.home import Home, open_home
from studio.recipes.library import RecipeLibrary
from studio.runs.service import RunService
from studio.runs.store import RunStore
from studio.runs.user_file import read_user
from studio.settings import SettingsFile
from tests.helpers.plans import plan_for, small_recipe


class KillAt(Disk):
    """Kills this process before (odd turns) or in the middle of its n-th operation."""

    def __init__(self, number: int) -> None:
        self._left = number

    def _count(self) -> bool:
        self._left -= 1
        return self._left == 0

    def write(self, file: IO[bytes], data: bytes | memoryview) -> None:
        if self._count():
            super().write(file, bytes(data)[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(file, data)

    def sync(self, file: IO[bytes]) -> None:
        if self._count():
            os.kill(os.getpid(), signal.SIGKILL)
        super().sync(file)

    def replace(self, source: Path, target: Path) -> None:
        if self._count():
            os.kill(os.getpid(), signal.SIGKILL)
        super().replace(source, target)


def chores(root: Path) -> None:
    """Launch, rename, tag, set, save: everything by which the app writes."""
    with contextlib.ExitStack() as stack:
        home = open_home(root)
        store = stack.enter_context(contextlib.closing(RunStore(home.history)))
        settings = SettingsFile(home.settings)
        service = RunService(home, store, settings.load, engine_command=["true"])
        do_chores(home, settings, stack.enter_context(contextlib.closing(service)))


def do_chores(home: Home, settings: SettingsFile, runs: RunService) -> None:
    recipe = small_recipe(home.root, seed=secrets.randbelow(1000))
    run = runs.launch(recipe, plan_for(recipe), token=secrets.token_hex(4), name="before")
    runs.refresh()
    runs.change(run, name="after", tags=["kept"], notes="n" * 10_000)
    settings.change(theme="dark")
    RecipeLibrary(home.recipes).save(recipe, "saved")
    runs.refresh()
    doomed = runs.launch(recipe, plan_for(recipe), token=secrets.token_hex(4))
    while runs.is_alive(doomed):
        time.sleep(0.005)
    runs.delete([doomed])
    runs.refresh()


def check(root: Path) -> None:
    """Open the home as the next window does. Raises where something is half written."""
    home = open_home(root)
    SettingsFile(home.settings).load()
    for entry in RecipeLibrary(home.recipes).list():
        assert entry.problem is None, entry
    store = RunStore(home.history)
    runs = RunService(home, store, SettingsFile(home.settings).load, engine_command=["true"])
    runs.refresh()
    folders = [path for path in home.runs.iterdir() if not path.name.startswith(".")]
    assert {row.id for row in store.runs(limit=10_000)} == {path.name for path in folders}
    for path in folders:
        folder = home.run(path.name)
        recipe = parse_recipe(folder.recipe.read_text())
        assert decode_plan(folder.plan.read_bytes()).recipe_hash == recipe_hash(recipe)
        user = read_user(folder)
        assert (user.name, user.tags) in ((user.name, ()), ("after", ("kept",))), user
        assert store.run(path.name).name == user.name
    runs.close()
    store.close()


def in_child(work: object, *arguments: object) -> int:
    """Fork, do the work, and give the child's wait status."""
    pid = os.fork()
    if pid == 0:
        assert callable(work)
        try:
            work(*arguments)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return pid


def each(root: Path) -> int:
    number = 0
    while True:
        number += 1

        def work(at: int = number) -> None:
            with use_disk(KillAt(at)):
                chores(root)

        _, status = os.waitpid(in_child(work), 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the chores failed by themselves"
        check(root)
        if not os.WIFSIGNALED(status):
            return number - 1


def at_random(root: Path, times: int, seed: int) -> int:
    dice = random.Random(seed)

    def for_ever() -> None:
        while True:
            chores(root)

    for _ in range(times):
        pid = in_child(for_ever)
        time.sleep(dice.uniform(0.01, 0.3))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        check(root)
    return times


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(each(folder) if sys.argv[2] == "each" else at_random(folder, int(sys.argv[3]), int(sys.argv[4])))
