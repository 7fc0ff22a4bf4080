"""The whole road through the house, by mouse: from a search on the Hub to an export whose self-test is green."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QPushButton, QWidget

from studio.recipes import ModelRef
from tests.helpers.hub_server import HubServer
from tests.helpers.person import Person, Sit
from tests.helpers.studio_window import written
from tests.helpers.tiny_models import write_tiny_llama, write_tiny_qwen3
from tests.helpers.tiny_runs import write_rows
from ui.viewmodels import run_table as columns
from ui.views.export import ExportView
from ui.views.live import LiveView
from ui.views.new_run import NewRunView
from ui.views.new_run.data_page import DataPage
from ui.views.new_run.model_page import ModelPage
from ui.views.runs import RunsView
from ui.widgets.field import NumberField, TextField
from ui.widgets.nav_rail import RailItem
from ui.widgets.table import DataTable
from ui.widgets.toggle import CheckBox

EVALUATION = ("EvaluationCompleted", "evaluation_loss")
REPOSITORY, WEIGHTS, CUT = "acme/tiny-llama", "model.safetensors", 40_000


def test_from_a_search_to_a_green_export(sit: Sit, hub: HubServer, root: Path, tmp_path: Path) -> None:
    hub.add_model(REPOSITORY, write_tiny_llama(tmp_path / "published"), downloads=900)
    hub.add_model("acme/other-qwen3", write_tiny_qwen3(tmp_path / "other"), downloads=5000)
    data = write_rows(tmp_path / "questions.jsonl")
    person = sit()
    person.click("New run", RailItem)
    download_cut_and_resumed(person, hub)
    choose_data(person, data)
    person.type_into("Gradient accumulation", "1", NumberField)
    first = launch(person, name="first", epochs="8", rate="0.01")
    points_arrive(person, root, first)
    pause_and_checkpoint(person)
    stop_resume_and_finish(person, root, first)
    second = launch_again(person, rate="0.002")
    compare(person, root, first, second)
    export_until_green(person, first)


def new_run(person: Person) -> NewRunView:
    view = person.window.pages.view("new")
    assert isinstance(view, NewRunView)
    return view


def live(person: Person) -> LiveView:
    view = person.window.pages.view("live")
    assert isinstance(view, LiveView)
    return view


def status(person: Person) -> str:
    shot = live(person).snapshot
    return shot.row.status if shot is not None else ""


def step(person: Person) -> int:
    shot = live(person).snapshot
    return shot.row.step if shot is not None else 0


def download_cut_and_resumed(person: Person, hub: HubServer) -> None:
    """Search, pick, download; the line breaks at a byte, and at that byte it goes on."""
    page = new_run(person).pages[0]
    assert isinstance(page, ModelPage)
    hub.order("cut", WEIGHTS, at=CUT)
    person.type_into("Search models", "llama", TextField)
    person.until(lambda: page.hub.rows.rowCount() == 1, "one model to be found")
    person.click_cell(person.see(DataTable, "Models on the Hub"), page.hub.rows.index(0, 0))
    person.until(lambda: page.details.facts is not None, "the model's details")
    person.click("Download")
    person.until(lambda: page.step_state()[1] == "tiny-llama · on disk", "the download to end")
    first, *more = hub.bodies(WEIGHTS)
    assert "range" not in first.headers or first.headers["range"] == "bytes=0-"
    assert more[-1].headers["range"] == f"bytes={CUT}-", [request.headers for request in more]
    assert hub.faults[0].times == 0, "the line was cut"
    document = person.window.context.services.document
    assert document.recipe.model == ModelRef(repository=REPOSITORY, revision="main")
    person.click("Next: data")


def choose_data(person: Person, data: Path) -> None:
    """A file by the file dialog, and a length that the model can take."""
    view = new_run(person)
    page = view.pages[1]
    assert isinstance(page, DataPage)
    person.choosing(lambda: person.click("Add a file…", inside=page.settings), data)
    person.type_into("Sequence length", "48", NumberField)
    person.until(lambda: view.session.planned is not None and not view.session.pending, "the data to be counted")
    person.until(lambda: view.pages[1].step_state() == ("done", "questions · 40 rows"), "the rows to be told")
    person.click("Next: method & plan")


def launch(person: Person, *, name: str, epochs: str, rate: str) -> str:
    """Method & plan: what differs from the defaults, a plan that fits, Launch."""
    view = new_run(person)
    person.type_into("Epochs", epochs, NumberField)
    person.type_into("Learning rate", rate, NumberField)
    person.type_into("Name", name, TextField)
    person.until(lambda: view.session.can_launch and not view.session.pending, "a plan that fits")
    assert view.pages[2].step_state()[0] == "done"
    person.click("Launch run")
    person.until(lambda: person.window.pages.route == "live", "Live after the launch")
    return live(person).run_id


def points_arrive(person: Person, root: Path, run: str) -> None:
    """Before the first point there is a sentence; then the curve is what the engine wrote, and it can be seen."""
    view = live(person)
    chart = view.page.charts.loss
    person.until(lambda: len(chart.plotted("loss")[0]) >= 2, "two points", 60)
    before = picture(chart.plot)
    count = len(chart.plotted("loss")[0])
    person.until(lambda: len(chart.plotted("loss")[0]) >= count + 20, "more points", 60)
    assert picture(chart.plot) != before, "pixels of the plot changed"
    assert_plotted(person, root, run)


def assert_plotted(person: Person, root: Path, run: str) -> None:
    """Every curve is what the engine wrote, value by value."""
    charts = live(person).page.charts
    curves = (
        (charts.loss, "loss", "StepCompleted"),
        (charts.loss, "evaluation_loss", "EvaluationCompleted"),
        (charts.small["learning_rate"], "learning_rate", "StepCompleted"),
        (charts.small["grad_norm"], "grad_norm", "StepCompleted"),
        (charts.small["tokens_per_second"], "tokens_per_second", "StepCompleted"),
    )
    for card, key, event in curves:
        x, y = card.plotted(key)
        assert list(zip(x, y, strict=True)) == written(root, run, event, key)[: len(x)], key
    assert len(charts.loss.plotted("loss")[0]) > 0


def picture(widget: QWidget) -> QImage:
    """What the widget's rectangle of the window looks like."""
    window = widget.window()
    return window.grab(widget.rect().translated(widget.mapTo(window, widget.rect().topLeft()))).toImage()


def pause_and_checkpoint(person: Person) -> None:
    """Pause holds the step; a checkpoint is saved when it is asked for; Resume goes on."""
    view = live(person)
    person.click("Pause")
    person.until(lambda: status(person) == "paused", "the pause")
    held = step(person)
    person.click("Checkpoint now")
    person.until(lambda: view.snapshot is not None and held in [c.step for c in view.snapshot.checkpoints],
                 f"a checkpoint of step {held}")  # fmt: skip
    assert step(person) == held, "nothing is trained in a pause"
    person.click("Resume")
    person.until(lambda: status(person) == "training" and step(person) > held, "steps after the pause")


def stop_resume_and_finish(person: Person, root: Path, run: str) -> None:
    """Stop & save ends the engine; Resume starts the next attempt, which ends by itself."""
    view = live(person)
    person.click("Stop & save")
    person.answer("Stop & save")
    person.until(lambda: status(person) == "stopped", "the run to stop")
    stopped = step(person)
    person.click("Resume")
    person.until(lambda: status(person) == "finished", "the run to finish", 90)
    assert view.snapshot is not None
    row = view.snapshot.row
    assert (row.attempt, row.step) == (2, row.total_steps) and row.step > stopped
    person.until(lambda: len(view.page.charts.loss.plotted("loss")[0]) == row.total_steps, "the whole curve")
    assert_plotted(person, root, run)
    assert person.see(QPushButton, "Compare") and person.see(QPushButton, "Export")


def launch_again(person: Person, *, rate: str) -> str:
    """The form is as it was left: only the learning rate changes."""
    person.click("New run", RailItem)
    view = new_run(person)
    assert view.index == 2 and person.see(NumberField, "Epochs").value == 8
    run = launch(person, name="second", epochs="2", rate=rate)
    person.until(lambda: status(person) == "finished", "the second run to finish", 60)
    return run


def compare(person: Person, root: Path, first: str, second: str) -> None:
    """Tick both: two curves, and the settings that differ."""
    person.click("Runs", RailItem)
    view = person.window.pages.view("runs")
    assert isinstance(view, RunsView)
    person.until(lambda: view.model.rowCount() == 2, "two runs in the history")
    for run in (first, second):
        row = view.model.row_of(run)
        assert row is not None
        person.click_cell(view.table, view.model.index(row, columns.TICK))
    person.until(lambda: view.compare.chart is not None and view.compare.data is not None, "the comparison")
    chart = view.compare.chart
    assert chart is not None
    for slot, run in (("A", first), ("B", second)):
        assert list(chart.plotted(slot)[1]) == [value for _, value in written(root, run, *EVALUATION)]
    settings = person.see(DataTable, "Settings compared").model()
    cells = [[str(settings.index(row, column).data()) for column in range(3)] for row in range(settings.rowCount())]
    assert ["Learning rate", "0.01", "0.002"] in cells, cells


def export_until_green(person: Person, run: str) -> None:
    """The adapter of the first run, reloaded and compared by the self-test."""
    person.click("Export", RailItem)
    view = person.window.pages.view("export")
    assert isinstance(view, ExportView)
    person.until(lambda: view.prediction is not None, "sizes")
    person.window.navigate("export", run=run)
    person.click_at(person.see(CheckBox, "LoRA adapter (PEFT)"))
    person.click("Export")
    person.until(lambda: view.result.badge.isVisible() and view.result.badge.text() == "Self-test passed",
                 "the self-test to pass", 90)  # fmt: skip
    assert view.result.badge.state == "good" and view.prediction is not None
    assert (view.prediction.folders["peft"] / "adapter_model.safetensors").is_file()
