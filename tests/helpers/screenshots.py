"""`make screenshots`: a real session in a home of its own, and every screen of it as pictures.

python -m tests.helpers.screenshots OUT [--only NAME]: a tiny model on a Hub on this machine, a small dataset, two
finished runs and one that trains meanwhile, exports with their self-tests; all of it by the real engine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any  # Any: the values of a model's config.json are plain JSON

from PySide6.QtWidgets import QApplication

from studio.app import Studio
from studio.recipes import Recipe
from tests.helpers.hub_server import HubServer
from tests.helpers.sessions import export, finish, launch, open_quiet_studio, small_session_recipe, until
from tests.helpers.tiny_models import write_tiny_qwen3
from ui.screenshots import take_all
from ui.services import Services

_SHAPE: dict[str, Any] = {  # Any: the values of a config.json
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "head_dim": 16,
}


def make_session(studio: Studio, root: Path) -> Recipe:
    """Two finished runs, exports of one, and a third run that still trains. Returns the recipe of the exported one."""
    every: dict[str, object] = {"maximum_steps": 60, "evaluate_every": 6, "checkpoint_every": 6, "keep_last": 3}
    smaller = small_session_recipe(root, learning_rate=3e-3, lora_rank=8, **every)
    finish(studio, smaller, name="questions-lora-r8", tags=("smaller",))
    recipe = small_session_recipe(root, **every)
    first = finish(studio, recipe, name="questions-lora-r16", tags=("baseline",))
    for kind in ("peft", "merged"):
        export(studio, first, kind)
    going = small_session_recipe(root, maximum_steps=40_000, epochs=10_000.0, evaluate_every=50, checkpoint_every=200)
    run = launch(studio, going, name="questions-long")
    until(studio, lambda: studio.store.count() == 3 and studio.store.run(run).step >= 60)
    return recipe


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the session, take the pictures, end the run that trains."""
    parser = argparse.ArgumentParser(prog="tests.helpers.screenshots", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="names that begin with this")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory(prefix="anneal-screenshots-") as folder, HubServer() as server:
        root = Path(folder)
        os.environ["HF_HOME"] = str(root / "huggingface")  # before huggingface_hub is imported: never the user's own
        for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HUB_CACHE", "HF_HUB_OFFLINE"):
            os.environ.pop(name, None)
        server.add_model("anneal/tiny-qwen3-chat", write_tiny_qwen3(root / "qwen3", **_SHAPE), downloads=1200, likes=31)
        studio = open_quiet_studio(root / "home")
        studio.settings.change(hub_endpoint=server.endpoint, hub_home=str(root / "huggingface"))
        try:
            print("making a session with the real engine", flush=True)
            recipe = make_session(studio, root)
            application = QApplication(sys.argv[:1])
            services = Services(studio.home, opener=lambda root: studio)
            services.document.replace(recipe)
            take_all(application, services, chosen.out, chosen.only)
        finally:
            for row in studio.store.runs():
                if row.is_active:
                    studio.runs.end_now(row.id)
            studio.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
