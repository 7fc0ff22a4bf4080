from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import pytest

from engine.protocol.errors import SurroundingsError
from engine.training.event_writer import EventWriter
from engine.training.export.target import ExportRecord, read_record, staged
from engine.training.outcome import ExitCode, printing_events


def _record(step: int = 3) -> ExportRecord:
    return ExportRecord(
        format="merged", run="r", run_name="n", checkpoint_step=step, checkpoint_sha256="abc", time_utc="now"
    )


def _export(target: Path, *names: str, step: int = 3) -> None:
    with staged(target, _record(step), 1000) as folder:
        for name in names:
            (folder / name).write_text(f"{name} of {step}")


def test_a_new_target_appears_whole_with_its_record(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with staged(target, _record(), 1000) as folder:
        (folder / "a.txt").write_text("a")
        assert not target.exists()
    record = read_record(target)
    assert record is not None
    assert record.complete
    assert record.files.keys() == {"a.txt"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.scenario("S32")
def test_unrelated_files_beside_an_export_survive_a_second_export(tmp_path: Path) -> None:
    target = tmp_path / "out"
    _export(target, "a.txt", "b.txt")
    (target / "my notes.txt").write_text("mine")
    _export(target, "b.txt", "c.txt", step=9)
    names = sorted(path.name for path in target.iterdir())
    assert names == ["anneal-export.json", "b.txt", "c.txt", "my notes.txt"]
    assert (target / "my notes.txt").read_text() == "mine"
    assert (target / "b.txt").read_text() == "b.txt of 9"
    record = read_record(target)
    assert record is not None
    assert (record.complete, record.checkpoint_step, sorted(record.files)) == (True, 9, ["b.txt", "c.txt"])


def test_a_folder_that_is_not_ours_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_text("x")
    with pytest.raises(SurroundingsError) as caught:
        _export(tmp_path, "a.txt")
    assert caught.value.code == "export_target_taken"
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


@pytest.mark.parametrize("name", ["../precious.txt", "/etc/passwd", "a/../../precious.txt", "..\\precious.txt", "C:/x"])
def test_a_record_that_names_files_elsewhere_deletes_nothing(tmp_path: Path, name: str) -> None:
    target = tmp_path / "out"
    _export(target, "a.txt")
    (tmp_path / "precious.txt").write_text("mine")
    record = read_record(target)
    assert record is not None
    foreign = msgspec.structs.replace(record, files={**record.files, name: record.files["a.txt"]})
    (target / "anneal-export.json").write_bytes(msgspec.json.encode(foreign))
    with pytest.raises(SurroundingsError) as caught:
        _export(target, "b.txt", step=9)
    assert caught.value.code == "export_target_taken"
    assert (tmp_path / "precious.txt").read_text() == "mine"
    assert (target / "a.txt").exists()


def test_an_export_that_is_asked_to_end_clears_away_what_it_had_begun(tmp_path: Path) -> None:
    def work(events: EventWriter) -> ExitCode:
        with staged(tmp_path / "out", _record(), 1000) as folder:
            (folder / "model.safetensors").write_bytes(b"half of it")
            signal.raise_signal(signal.SIGTERM)
        return ExitCode.DONE

    before = signal.getsignal(signal.SIGTERM)
    assert printing_events(work) is ExitCode.STOPPED
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_failed_export_leaves_the_earlier_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    _export(target, "a.txt")
    with pytest.raises(RuntimeError), staged(target, _record(9), 1000) as folder:
        (folder / "a.txt").write_text("half")
        raise RuntimeError
    assert (target / "a.txt").read_text() == "a.txt of 3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.scenario("S33")
def test_the_disk_is_checked_first(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError) as caught, staged(tmp_path / "out", _record(), 1 << 60):
        raise AssertionError("nothing may be written")
    assert caught.value.code == "disk_full"
    assert list(tmp_path.iterdir()) == []
