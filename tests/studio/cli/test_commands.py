"""The commands, typed as a person types them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine.protocol.fields import FIELDS
from studio.cli.__main__ import build_parser
from studio.cli.command_list import COMMANDS
from studio.cli.exit_codes import MEANINGS, ExitCode
from studio.settings import SettingsFile
from tests.studio.cli.conftest import Desk
from tests.studio.runs.conftest import FAKE_ENGINE

ROOT = Path(__file__).resolve().parents[3]


def test_plan_tells_memory_time_and_data_and_launches_nothing(desk: Desk) -> None:
    code, out, _ = desk.run("plan", desk.recipe)
    assert code == ExitCode.DONE
    for word in ("adapters", "usable host memory", "tokens/s", "rows to train on", "Because"):
        assert word in out
    plan: Any = desk.json("plan", desk.recipe)  # Any: JSON
    assert plan["can_launch"] is True
    assert plan["plan"]["timeline"]["total_steps"] > 0
    assert list((desk.home / "runs").iterdir()) == []


def test_a_plan_with_problems_is_refused_and_each_is_named(desk: Desk) -> None:
    code, _, err = desk.run("plan", desk.recipe, "--set", "sequence_length=4096")
    assert code == ExitCode.REFUSED
    assert "sequence_length: The model was made for 256 tokens" in err
    code, _, err = desk.run("train", desk.recipe, "--set", "lora_rnk=3", "--set", "epochs", "--set", "seed=x")
    assert code == ExitCode.REFUSED
    for word in ("Did you mean lora_rank?", "no equals sign", "Seed cannot be 'x'"):
        assert word in err
    code, _, err = desk.run("plan", str(desk.root / "none.yaml"))
    assert code == ExitCode.SURROUNDINGS
    assert "none.yaml" in err


def test_a_model_that_is_not_here_brings_the_line_that_fetches_it(desk: Desk) -> None:
    desk.run("runs")  # makes the home
    SettingsFile(desk.home / "settings.json").change(hub_offline=True)
    code, _, err = desk.run("plan", desk.recipe, "--set", "model=organisation/model@v1")
    assert code == ExitCode.REFUSED
    assert "anneal download organisation/model --revision v1" in err


def test_train_follows_to_the_end_and_the_history_knows_it(desk: Desk) -> None:
    desk.options(steps=4, checkpoint_every=2)
    code, out, err = desk.run("train", desk.recipe, "--name", "first", "--tag", "tea", "--set", "lora_rank=4")
    assert code == ExitCode.DONE
    assert "Training: 4 steps" in err
    assert "finished at step 4 of 4" in out
    rows: Any = desk.json("runs", "first")  # Any: JSON
    assert [(row["name"], row["status"], row["tags"]) for row in rows] == [("first", "finished", ["tea"])]
    assert json.loads(rows[0]["recipe"])["lora_rank"] == 4
    code, out, _ = desk.run("runs")
    assert "first" in out
    assert desk.run("watch", "last")[0] == ExitCode.DONE
    lines = desk.run("watch", "last", "--json")[1].splitlines()
    assert json.loads(lines[-1])["event"] == "RunFinished"


def test_a_detached_run_is_commanded_and_stopped(desk: Desk) -> None:
    desk.options(steps=100_000, step_seconds=0.005)
    launched: Any = desk.json("train", desk.recipe, "--detach")  # Any: JSON
    run = launched["id"]
    _until_events(desk, run)
    for command in ("pause", "checkpoint", "resume"):
        assert desk.run(command, run[:17])[0] == ExitCode.DONE, command
    stopped: Any = desk.json("stop", "last")  # Any: JSON
    assert stopped["status"] == "stopped"
    assert stopped["checkpoint_step"] == stopped["step"]
    code, _, err = desk.run("pause", "last")
    assert code == ExitCode.SURROUNDINGS
    assert "No engine is at work" in err


@pytest.mark.parametrize("tokens", ["0", "-3", "many"])
def test_an_answer_of_no_tokens_is_a_wrong_command_line(desk: Desk, tokens: str) -> None:
    with pytest.raises(SystemExit) as ended:
        desk.run("generate", "last", "--prompt", "hi", f"--tokens={tokens}")
    assert ended.value.code == ExitCode.USAGE


@pytest.mark.scenario("S4")
def test_a_killed_run_is_told_and_resume_ends_it(desk: Desk) -> None:
    desk.options(steps=6, checkpoint_every=2, kill_at=5)
    code, out, _ = desk.run("train", desk.recipe)
    assert code == ExitCode.RUN_FAILED
    assert "SIGKILL" in out
    desk.options(steps=6, checkpoint_every=2)
    code, out, err = desk.run("resume", "last")
    assert code == ExitCode.DONE, err
    assert "Attempt 2 goes on from step 4." in err


@pytest.mark.scenario("S8")
def test_an_engine_that_says_nothing_gives_its_last_line(desk: Desk) -> None:
    desk.options(exit_before_events=1)
    code, out, _ = desk.run("train", desk.recipe)
    assert code == ExitCode.RUN_FAILED
    assert "the moon is in the wrong phase" in out


def test_compare_shows_differences_only_and_judges_like_with_like(desk: Desk) -> None:
    desk.options(steps=3)
    desk.run("train", desk.recipe, "--name", "a")
    desk.options(steps=6)
    desk.run("train", desk.recipe, "--name", "b", "--set", "lora_rank=4")
    code, out, _ = desk.run("compare", "a", "b")
    assert code == ExitCode.DONE
    assert "LoRA rank" in out
    assert "Seed" not in out
    comparison: Any = desk.json("compare", "a", "b")  # Any: JSON
    loss = next(row for row in comparison["metrics"] if row["key"] == "loss")
    assert loss["results"][1]["better"] is True
    assert comparison["unlike"] == [[], []]
    (desk.root / "rows.jsonl").write_text((desk.root / "rows.jsonl").read_text() * 2)
    desk.run("train", desk.recipe, "--name", "c")
    unlike: Any = desk.json("compare", "a", "c")  # Any: JSON
    assert unlike["unlike"] == [[], ["data"]]
    assert next(row for row in unlike["metrics"] if row["key"] == "loss")["results"][1]["better"] is None
    assert desk.run("compare", "a", "a")[0] == ExitCode.SURROUNDINGS


def test_data_shows_format_counts_and_the_mask(desk: Desk) -> None:
    code, out, _ = desk.run("data", str(desk.root / "rows.jsonl"), "--model", str(desk.root / "model"))
    assert code == ExitCode.DONE
    assert "Format       messages" in out
    assert "【The quick brown fox." in out
    assert "40 rows, 0 left out" in out
    (desk.root / "other.jsonl").write_text('{"a": 1}\n')
    assert desk.run("data", str(desk.root / "other.jsonl"))[0] != ExitCode.DONE


def test_doctor_and_models_answer(desk: Desk) -> None:
    checks: Any = desk.json("doctor")  # Any: JSON
    assert {check["id"] for check in checks["checks"]} >= {"python", "torch", "gpu", "home"}
    assert desk.json("models") == {"models": [], "problems": []}


def test_an_unknown_run_and_a_wrong_command_line_have_their_codes(desk: Desk) -> None:
    for command in (["stop", "nothing"], ["watch", "last"], ["export", "x", "--format", "peft"]):
        assert desk.run(*command)[0] == ExitCode.SURROUNDINGS
    with pytest.raises(SystemExit) as caught:
        desk.run("fly")
    assert caught.value.code == ExitCode.USAGE


def test_the_help_knows_every_setting_command_and_exit_code() -> None:
    parser = build_parser()
    text = parser.format_help()
    assert all(f"{code.value}  {meaning}" in text for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(ExitCode)
    assert all(command.NAME in text and command.__doc__ for command in COMMANDS)
    train = subprocess.run(
        [sys.executable, "-m", "studio.cli", "train", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert all(f"    {key} " in train for key in FIELDS)


def test_the_command_line_needs_no_qt_and_no_torch() -> None:
    code = (
        "import sys, studio.cli.__main__; heavy = {'PySide6', 'torch', 'tokenizers', 'pyarrow', 'transformers',"
        " 'pycuda'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(("deaf", "interrupts", "expected"), [(0, 1, ExitCode.STOPPED), (1, 2, ExitCode.INTERRUPTED)])
def test_ctrl_c_once_stops_and_saves_and_twice_leaves_the_run(
    desk: Desk, deaf: int, interrupts: int, expected: ExitCode
) -> None:
    desk.options(steps=100_000, step_seconds=0.01, deaf=deaf)
    code = (  # a shell starts what stands before an & deaf to interrupts, and these tests may stand there
        "import signal, sys; from studio.cli.__main__ import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"sys.exit(main(sys.argv[1:], engine_command={FAKE_ENGINE}))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--home", str(desk.home), "train", desk.recipe],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Training"):
            break
    for _ in range(interrupts):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"It did not end: {process.communicate()[1]}")
    assert process.returncode == expected, err
    if expected is ExitCode.STOPPED:
        assert "stopped at step" in out
    else:
        assert "goes on by itself" in err
        rows: Any = desk.json("runs")  # Any: JSON
        assert rows[0]["status"] == "training"


def _until_events(desk: Desk, run: str) -> None:
    events = desk.home / "runs" / run / "events.jsonl"
    deadline = time.monotonic() + 20
    while not events.exists() or b"TrainingStarted" not in events.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)
