"""Everything that the detail pane tells of one model, from the Hub or from this disk, in one shape."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from studio.errors import Problem, SurroundingsError
from studio.planning import MachineSpec
from studio.recipes import ModelRef
from ui.format import number
from ui.tr import tr
from ui.viewmodels.fit import Fit, fits_of
from ui.viewmodels.local_rows import reference_of

if TYPE_CHECKING:
    from studio.hub.records import LocalModel, ModelDetails, Revision, Verdict
    from ui.services import Services

CARD_FILE = "README.md"
CARD_CHARACTERS = 200_000
_SHARD = re.compile(r"(.*)-\d{5}-of-(\d{5})(\..*)")


@dataclass(frozen=True)
class FileFact:
    """Files that are told in one line: the label, the names that it stands for, and the bytes in all."""

    label: str
    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class ModelFacts:
    """`verdict` is the engine's; `problem` says why some of it could not be read; `page` is "" for a folder."""

    reference: ModelRef
    owner: str
    name: str
    verdict: Verdict
    fits: tuple[Fit, ...]
    architecture: tuple[tuple[str, str], ...]
    parameters: int | None
    licence: str | None
    needs_access: bool
    is_gated: bool
    page: str
    commit: str
    revisions: tuple[Revision, ...]
    files: tuple[FileFact, ...]
    other_files: int
    on_disk: bool
    card: str
    problem: Problem | None = None

    @property
    def needed_bytes(self) -> int:
        """What a download fetches."""
        return sum(file.size_bytes for file in self.files)

    @property
    def can_train(self) -> bool:
        """Whether it may be chosen: nothing is known against it."""
        return self.verdict.state != "refused"


def hub_facts(services: Services, repository: str, revision: str, machine: MachineSpec) -> ModelFacts:
    """A model of the Hub; blocks. Raises SurroundingsError("hub_…")."""
    hub = services.hub()
    details = hub.details(repository, revision)
    reference = ModelRef(repository=repository, revision=revision)
    try:
        revisions = hub.revisions(repository)
    except SurroundingsError:  # a cached model is shown offline too; it then has the revision that it has
        revisions = ()
    trainable = details.verdict.state == "trainable"
    owner, _, name = repository.rpartition("/")
    return ModelFacts(
        reference=reference, owner=owner, name=name, verdict=details.verdict,
        fits=fits_of(services.planning, reference, machine) if trainable else (),
        architecture=architecture_facts(details.config or {}), parameters=details.parameters,
        licence=details.licence, needs_access=details.access == "ask", is_gated=details.gating != "open",
        page=details.page, commit=details.commit, revisions=revisions, files=_hub_files(details),
        other_files=sum(not file.is_needed for file in details.files), on_disk=is_on_disk(services, reference),
        card=(details.card or "")[:CARD_CHARACTERS], problem=details.problem,
    )  # fmt: skip


def disk_facts(services: Services, model: LocalModel, machine: MachineSpec) -> ModelFacts:
    """A model on this disk; blocks, no network."""
    reference = reference_of(model)
    trainable = model.verdict.state == "trainable" and model.is_complete
    owner, _, name = model.label.rpartition("/")
    folder = Path(model.path)
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    return ModelFacts(
        reference=reference, owner=owner, name=name, verdict=model.verdict,
        fits=fits_of(services.planning, reference, machine) if trainable else (),
        architecture=architecture_facts(model.config or {}), parameters=None, licence=None, needs_access=False,
        is_gated=False, page="", commit=model.commit, revisions=(), files=group_files(sizes), other_files=0,
        on_disk=model.is_complete, card=_read_card(folder / CARD_FILE),
    )  # fmt: skip


def architecture_facts(config: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """(name, value) rows out of a config.json; what it does not tell is left out."""
    names = config.get("architectures")
    rows = [(tr("Class"), str(names[0]) if isinstance(names, list) and names else "")]
    heads, shared = _count(config, "num_attention_heads"), _count(config, "num_key_value_heads")
    both = tr("{heads} and {shared} key/value", heads=heads, shared=shared) if heads and shared else heads
    context, vocabulary = _count(config, "max_position_embeddings"), _count(config, "vocab_size")
    rows += [
        (tr("Layers"), _count(config, "num_hidden_layers")),
        (tr("Hidden size"), _count(config, "hidden_size")),
        (tr("Heads"), both),
        (tr("Vocabulary"), tr("{count} tokens", count=vocabulary) if vocabulary else ""),
        (tr("Context"), tr("{count} tokens", count=context) if context else ""),
    ]
    return tuple((name, value) for name, value in rows if value)


def group_files(sizes: dict[str, int]) -> tuple[FileFact, ...]:
    """Three rows at most where a model has the usual files: its weights, its tokenizer, everything else."""
    groups: dict[str, list[str]] = {}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        groups.setdefault(_group(name), []).append(name)
    rows = []
    for group in sorted(groups, key=lambda group: ("weights", "tokenizer", "others").index(group)):
        names = sorted(groups[group]) if group == "weights" else groups[group]
        shard = _SHARD.fullmatch(names[0])
        label = f"{shard[1]}-00001…{shard[2]}{shard[3]}" if shard else ", ".join(names)
        rows.append(FileFact(label, tuple(names), sum(sizes[name] for name in names)))
    return tuple(rows)


def _group(name: str) -> str:
    if name.endswith(".safetensors"):
        return "weights"
    words = ("token", "vocab", "merges", "chat_template")
    return "tokenizer" if any(word in name for word in words) else "others"


def _count(config: dict[str, object], key: str) -> str:
    value = config.get(key)
    return number(value) if isinstance(value, int) else ""


def _hub_files(details: ModelDetails) -> tuple[FileFact, ...]:
    return group_files({file.name: file.size_bytes or 0 for file in details.files if file.is_needed})


def is_on_disk(services: Services, reference: ModelRef) -> bool:
    """Whether the whole model of a recipe is on this disk; blocks, no network."""
    try:
        return services.hub().find(reference).is_complete
    except SurroundingsError:
        return False


def _read_card(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:CARD_CHARACTERS]
    except OSError:
        return ""
