"""The doctor's checks in words: groups, states, what to do, and the command that does it."""

from __future__ import annotations

from dataclasses import dataclass

from studio.machine.doctor import Check
from ui.format import GIB, disk, memory, number
from ui.tr import plural, tr
from ui.widgets.badge import State

_STATES: dict[str, State] = {"good": "good", "attention": "warn", "bad": "bad", "unknown": "neutral"}
_GROUPS = {"gpu": 0, "pycuda": 0, "torch": 0, "python": 0, "memory": 1, "disk": 1, "home": 1}
_QUANTITIES = ("python", "memory", "disk", "home")
_ORDER = ("gpu", "pycuda", "torch", "python", "memory", "disk", "home", "display", "hub")


@dataclass(frozen=True)
class Help:
    """What a row says when it is opened. `page`: the page of Settings that helps, "" for none."""

    text: str
    command: str = ""
    page: str = ""
    action: str = ""


def group_names() -> tuple[str, ...]:
    """The headings, in order."""
    return tr("Engine and graphics"), tr("Memory and disk"), tr("Accounts and tools")


def group_of(check: Check) -> int:
    """Which heading a check stands under."""
    return _GROUPS.get(check.id, 2)


def ordered(checks: list[Check]) -> list[Check]:
    """As the design lists them; one that is not known comes last."""
    return sorted(checks, key=lambda check: _ORDER.index(check.id) if check.id in _ORDER else len(_ORDER))


def has_no_gpu(check: Check) -> bool:
    """Whether this is the GPU's line on a machine without one: a fact, nothing to mend."""
    return check.id == "gpu" and not check.arguments.get("count")


def state_of(check: Check) -> State:
    """How the row is coloured."""
    return "neutral" if has_no_gpu(check) else _STATES[check.state]


def state_words(check: Check) -> str:
    """The state in a word."""
    if has_no_gpu(check):
        return tr("No GPU")
    words = {"good": tr("Good"), "attention": tr("Attention"), "bad": tr("Missing"), "unknown": tr("Unknown")}
    return words[check.state]


def found_words(check: Check) -> str:
    """What is there."""
    if has_no_gpu(check):
        return tr("None found: training runs on the CPU")
    usable, capacity, free = (check.arguments.get(key) for key in ("usable_bytes", "capacity_bytes", "free_bytes"))
    if isinstance(usable, int) and isinstance(capacity, int):
        text = tr("{capacity}, {usable} usable", capacity=memory(capacity), usable=memory(usable))
        return tr("{text}, limited by a control group", text=text) if check.arguments.get("limited") else text
    if isinstance(free, int):
        return tr("{free} free", free=disk(free))
    return tr("Not installed") if check.found == "not installed" else tr(check.found)


def needed_words(check: Check) -> str:
    """What is needed."""
    if has_no_gpu(check):
        return tr("This release trains on the CPU only; nothing is missing")
    return tr("Needs {what}", what=tr(check.needed)) if check.id in _QUANTITIES else tr(check.needed)


def help_for(check: Check) -> Help:
    """The explanation behind a row, whatever its state."""
    if has_no_gpu(check):
        return Help(tr("A GPU is not used by this release. Small models train on the CPU, slowly but with the same"
                       " numbers; plans name the time it will take."))  # fmt: skip
    remedies = {
        "doctor.other_python": Help(tr("Anneal Studio is tested with Python 3.11 to 3.13. Make its environment anew"
                                       " with one of these."), "make setup"),
        "doctor.install_torch": Help(tr("The engine computes with PyTorch on the CPU. Without it nothing can train."),
                                     "pip install torch --index-url https://download.pytorch.org/whl/cpu"),
        "doctor.install_pycuda": Help(tr("PyCUDA speaks to the GPU. Training runs on the CPU without it."),
                                      "pip install pycuda"),
        "doctor.free_memory": Help(tr("Programs that are open take the memory that a run needs. Close what you can;"
                                      " plans are refused before anything is loaded.")),
        "doctor.free_disk": Help(tr("Models, checkpoints and exports need room. Storage shows what takes it."),
                                 page="storage", action=tr("Open Storage")),
        "doctor.move_home": Help(tr("Nothing can be kept in this folder. Name another one before the next start."),
                                 "export ANNEAL_HOME=/path/to/folder"),
        "doctor.no_display": Help(tr("No desktop answers. The command line works without one."), "anneal --help"),
        "doctor.hub_unreachable": Help(tr("Searching and downloading need the Hub. Models on this disk work without"
                                          " it. Check the network, the proxy, or the address in Settings."),
                                       page="account", action=tr("Open Hub account")),
    }  # fmt: skip
    return remedies.get(check.remedy_code) or Help(tr(check.remedy) or _about(check))


def _about(check: Check) -> str:
    texts = {
        "gpu": tr("The driver lists this GPU. This release trains on the CPU all the same."),
        "pycuda": tr("PyCUDA speaks to a GPU. Without a GPU it is not needed."),
        "torch": tr("The engine takes its matrix products on the CPU from PyTorch, and nothing else."),
        "python": tr("The Python that runs the window, the engine and the data worker."),
        "memory": tr("What this process may use, under the limits of its control group. Plans keep within it."),
        "disk": tr("Free on the disk that runs are kept on. Plans count the checkpoints before they launch."),
        "home": tr("Runs, recipes, exports and settings lie here. Choose another with --home or ANNEAL_HOME."),
        "display": tr("The window is shown there. The command line needs none."),
        "hub": tr("Asked only when the doctor runs and when you search, download or check your account."),
    }
    return texts.get(check.id, "")


def verdict_words(checks: list[Check]) -> tuple[str, str, State]:
    """Title, counts and state of all checks together."""
    bad = sum(check.state == "bad" for check in checks)
    attention = sum(check.state == "attention" and not has_no_gpu(check) for check in checks)
    good = sum(check.state == "good" for check in checks)
    parts = [tr("{count} good", count=number(good))]
    parts += [plural(attention, "{count} needs attention", "{count} need attention")] if attention else []
    parts += [tr("{count} missing", count=number(bad))] if bad else []
    parts += [tr("no GPU, training runs on the CPU")] if any(map(has_no_gpu, checks)) else []
    title = tr("Not ready to train") if bad else tr("Ready to train")
    return title, " · ".join(parts), "bad" if bad else "good"


def rate_lines(flops: float, bandwidth: float) -> tuple[tuple[str, str], ...]:
    """Measured rates as name and value."""
    return (
        (tr("Float32 matrix multiply"), tr("{rate} GFLOP/s", rate=number(flops / 1e9, 0 if flops >= 1e10 else 1))),
        (tr("Memory bandwidth"), tr("{rate} GiB/s", rate=number(bandwidth / GIB, 1))),
    )
