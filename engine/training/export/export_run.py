"""`engine export`: a checkpoint becomes a folder that others can load, and is loaded once to see that they can.

checkpoint ► the engine's own answers ► staged folder ► final name ► self-test in another process ► exports.jsonl
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from engine.data.tokenizer import load_tokenizer
from engine.protocol.codec import utc_now
from engine.protocol.errors import SurroundingsError
from engine.protocol.events import Event, ExportStarted, ExportVerified, ExportWritten, decode_event
from engine.protocol.folder import RunFolder
from engine.protocol.lock import ProcessLock
from engine.training.checkpoint import checkpoint_hash, file_sha256, read_manifest, verify_checkpoint
from engine.training.event_writer import EventWriter, open_event_log, read_history
from engine.training.export.merged import merged_bytes, write_merged
from engine.training.export.model_card import model_card
from engine.training.export.peft_adapter import adapter_bytes, require_adapter, write_adapter
from engine.training.export.reference import Reference, answer_prompts, reference_prompts, write_reference
from engine.training.export.source import ExportSource
from engine.training.export.target import RECORD, ExportRecord, check_target, staged
from engine.training.model_folder import open_weights
from engine.training.outcome import ExitCode, printing_events, report_failure
from engine.training.phases import phase
from engine.training.served_model import Subject, subject_of_run

LOGIT_LIMITS = {"exact": 2e-4, "rounded": 5e-2}
"""Tolerance as a share of the largest logit. Exact: float32 on both sides, only the order of sums differs (measured
below 1e-6 on tiny models). Rounded: weights or values went through bf16 or fp16 on one side; there the tensor check is
the sharper one."""


class _Named(msgspec.Struct):
    name: str = ""


@dataclass(frozen=True)
class ExportJob:
    """One export: what, as what, where to, and where to say so."""

    folder: RunFolder
    export_format: str
    out: Path
    events: EventWriter
    record: EventWriter

    def say(self, event: Event) -> None:
        """On standard output and in the run's `exports.jsonl`."""
        self.events.write(event)
        self.record.write(msgspec.structs.replace(event, **self.record.stamp()))


def export_run(run: Path, checkpoint: str, export_format: str, out: Path) -> ExitCode:
    """Export a checkpoint and test the export. DONE only where the self-test passed."""

    def work(events: EventWriter) -> ExitCode:
        folder = RunFolder(run.resolve())
        lock = ProcessLock(folder.path / "exports.lock")
        lock.acquire()
        history = read_history(folder.exports)
        record = open_event_log(folder.exports, history, attempt=0)
        job = ExportJob(folder, export_format, out.resolve(), events, record)
        try:
            return _export(job, checkpoint)
        except Exception as error:
            return _failed(job, error)
        finally:
            record.sync()
            record.close()
            lock.release()

    return printing_events(work)


def _failed(job: ExportJob, error: Exception) -> ExitCode:
    """In the record too: an export that was begun is not left as "writing"."""
    code = report_failure(job.events, error, None)
    report_failure(job.record, error, None)
    return code


def _export(job: ExportJob, checkpoint: str) -> ExitCode:
    subject = subject_of_run(job.folder, checkpoint)
    source = _source(job.folder, subject)
    if job.export_format == "peft":
        require_adapter(source)
    check_target(job.out)
    step = source.manifest.state.step
    job.events.step = job.record.step = step
    job.say(ExportStarted(**job.events.stamp(), format=job.export_format, path=str(job.out), checkpoint_step=step))
    verify_checkpoint(source.checkpoint, source.manifest)
    reference_path = _write_reference(job, subject, source)
    _write_folder(job, source)
    record_path = job.out / RECORD
    job.say(
        ExportWritten(
            **job.events.stamp(),
            format=job.export_format,
            path=str(job.out),
            checkpoint_step=step,
            sha256=file_sha256(record_path),
            size_bytes=sum(path.stat().st_size for path in job.out.rglob("*") if path.is_file()),
        )
    )
    verified = _selftest(job, reference_path, step)
    job.say(verified)
    return ExitCode.DONE if verified.passed else ExitCode.FAILED


def _source(folder: RunFolder, subject: Subject) -> ExportSource:
    if subject.checkpoint is None:
        raise SurroundingsError("nothing_trained", "The base model needs no export.", "Choose a checkpoint.")
    choice = subject.recipe.chat_template
    template = None if choice == "model" else load_tokenizer(subject.base).template(choice).source
    return ExportSource(
        base=subject.base,
        checkpoint=subject.checkpoint,
        checkpoint_sha256=checkpoint_hash(subject.checkpoint),
        manifest=read_manifest(subject.checkpoint),
        recipe=subject.recipe,
        run=folder.id,
        run_name=_run_name(folder, subject),
        template=template,
    )


def _run_name(folder: RunFolder, subject: Subject) -> str:
    """What the recipe calls the run, or what the app's user calls it.

    `user.json` is the app's and only read here. A broken one is the app's to complain about: the run's id does then.
    """
    if subject.recipe.name:
        return subject.recipe.name
    try:
        return msgspec.json.decode(folder.user.read_bytes(), type=_Named).name
    except (OSError, msgspec.DecodeError):
        return ""


def _write_reference(job: ExportJob, subject: Subject, source: ExportSource) -> Path:
    prompts = reference_prompts(subject.recipe.sample_prompts)
    with phase("answering", job.events, _nothing) as progress:
        answers, logits, is_chat = answer_prompts(subject, prompts, progress)
    largest = max(float(np.max(np.abs(row))) for row in logits)
    reference = Reference(
        base=str(source.base),
        checkpoint=str(source.checkpoint),
        export_format=job.export_format,
        method=source.manifest.method,
        adapter_scale=source.adapter_scale,
        is_chat=is_chat,
        logit_limit=LOGIT_LIMITS[_exactness(job, source)] * max(1.0, largest),
        step=source.manifest.state.step,
        answers=answers,
    )
    job.folder.samples.mkdir(exist_ok=True)
    path = job.folder.samples / f"export-step-{reference.step:08d}-{job.export_format}.safetensors"
    write_reference(path, reference, logits)
    return path


def _exactness(job: ExportJob, source: ExportSource) -> str:
    stored = {file.entries[name].dtype for name, file in open_weights(source.base).items()}
    weights_are_exact = job.export_format == "peft" or stored <= {"F32", "F64"}
    return "exact" if weights_are_exact and source.manifest.precision == "fp32" else "rounded"


def _write_folder(job: ExportJob, source: ExportSource) -> None:
    is_merged = job.export_format == "merged"
    needed = merged_bytes(source) if is_merged else adapter_bytes(source)
    record = ExportRecord(
        format=job.export_format,
        run=source.run,
        run_name=source.run_name,
        checkpoint_step=source.manifest.state.step,
        checkpoint_sha256=source.checkpoint_sha256,
        time_utc=utc_now(),
    )
    with phase("writing", job.events, _nothing) as progress, staged(job.out, record, needed) as folder:
        if is_merged:
            write_merged(source, folder, lambda done, total: progress(done, total, "bytes"))
        else:
            write_adapter(source, folder)
        (folder / "README.md").write_text(model_card(source, job.export_format), encoding="utf-8")


def _nothing() -> None:
    """Nobody can stop an export but by ending it."""


def _selftest(job: ExportJob, reference_path: Path, step: int) -> ExportVerified:
    """Run the self-test in a process of its own, offline; a self-test that fails to run is a failed one."""
    root = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{root}{os.pathsep}{inherited}" if inherited else root,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    command = [sys.executable, "-P", "-m", "engine", "selftest"]
    command += ["--export", str(job.out), "--reference", str(reference_path)]
    with phase("testing", job.events, _nothing):
        process = subprocess.run(command, env=environment, capture_output=True, check=False)
    for line in process.stdout.splitlines():
        event = decode_event(line)
        if isinstance(event, ExportVerified):
            return msgspec.structs.replace(event, **job.events.stamp())
    sys.stderr.buffer.write(process.stderr)
    last = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return ExportVerified(
        **job.events.stamp(),
        format=job.export_format,
        path=str(job.out),
        checkpoint_step=step,
        passed=False,
        largest_logit_difference=None,
        logit_limit=0.0,
        prompts=0,
        equal_texts=0,
        reasons=[f"selftest: it did not run to its end: {last or process.returncode}"],
    )
