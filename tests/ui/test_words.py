"""Numbers, text and problems in words."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest
from PySide6.QtWidgets import QApplication

from ui import format as f
from ui.tr import PseudoLocale, plural, pseudo, tr
from ui.wording import words_for

G = 2**30


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (f.number(1386), "1,386"),
        (f.number(-0.5, 2), "−0.50"),
        (f.number(float("nan")), "not a number"),
        (f.memory(44.2 * G), "44.2 GiB"),
        (f.memory(1.4 * 2**20), "1.4 MiB"),
        (f.memory(0), "0.0 GiB"),
        (f.memory_of(44.2 * G, 48 * G), "44.2 of 48.0 GiB"),
        (f.disk(65.5e9), "65.5 GB"),
        (f.disk(1.42e12), "1.42 TB"),
        (f.disk(93e6), "93 MB"),
        (f.disk(900), "0.9 kB"),
        (f.disk(412e9), "412 GB"),
        (f.disk(12), "12 bytes"),
        (f.rate(112e6), "112 MB/s"),
        (f.duration(37.1), "37.1 s"),
        (f.duration(0.21), "0.21 s"),
        (f.duration(0), "0.0 s"),
        (f.duration(217), "3 min 37 s"),
        (f.duration(59.96), "1 min"),
        (f.duration(3599.7), "1 h 0 min"),
        (f.duration(19860), "5 h 31 min"),
        (f.duration(3600 * 52), "2 d 4 h"),
        (f.about(4.2), "about 4 s"),
        (f.percent(0.08), "8 %"),
        (f.percent(0.984, 1), "98.4 %"),
        (f.signed(0.014, 3), "+0.014"),
        (f.signed(-85), "−85"),
        (f.signed(0.0001, 2), "±0.00"),
        (f.learning_rate(1e-4), "1e-4"),
        (f.learning_rate(2.1e-5), "2.1e-5"),
        (f.learning_rate(0), "0"),
        (f.tokens_per_second(883.4), "883 tokens/s"),
        (f.compact(8_450_000), "8.45 M"),
        (f.compact(148_200), "148 k"),
        (f.compact(32.8e9), "32.8 B"),
        (f.compact(4193), "4,193"),
        (f.general(0.95), "0.95"),
        (f.general(1e-8), "1e-8"),
        (f.general(2048), "2,048"),
        (f.estimated("65 GB"), "~65 GB"),
        (f.closed_form("37.1 s"), "≈ 37.1 s"),
    ],
)
def test_numbers(got: str, expected: str) -> None:
    assert got == expected


def test_unit_is_split_off() -> None:
    assert f.split_unit("37.1 s") == ("37.1", "s")
    assert f.split_unit("5 h 31 min") == ("5 h 31", "min")
    assert f.split_unit("883") == ("883", "")


def test_times_are_stored_in_utc_and_shown_local() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert f.clock("2026-12-01T11:12:30Z", east) == "16:42"
    assert f.clock("2026-12-01T11:12:30+00:00", UTC, seconds=True) == "11:12:30"
    assert f.date_time("2026-12-01T20:00:00", east) == "2026-12-02 01:30", "no offset means UTC"


def test_pseudo_locale_is_longer_and_keeps_arguments(qapp: QApplication) -> None:
    for text in ("Live", "Search {count} models", "Step {step} of {total}, <b>still</b> falling"):
        assert len(pseudo(text)) >= 1.3 * len(text) - sum(len(part) for part in ("<b></b>",))
    translator = PseudoLocale()
    qapp.installTranslator(translator)
    try:
        shown = tr("Step {step} of {total}", step="3", total="10")
        assert "3" in shown and "10" in shown and "Step" not in shown and "{" not in shown
        assert plural(1, "{count} run", "{count} runs") != plural(2, "{count} run", "{count} runs")
    finally:
        qapp.removeTranslator(translator)
    assert tr("Step {step}", step="3") == "Step 3"
    assert plural(1386, "{count} run", "{count} runs") == "1,386 runs"


class _Problem:
    def __init__(self, code: str, message: str, remedy: str, **arguments: object) -> None:
        self.code, self.message, self.remedy, self.arguments = code, message, remedy, arguments


def test_problems_are_worded_or_carry_their_own_words() -> None:
    known = words_for(_Problem("out_of_range", "plain", "plain", label="Epochs", range="at least 1"))
    assert str(known) == "Epochs is outside its range. Use at least 1."
    unknown = words_for(_Problem("new_code", "The {thing} broke.", "Mend it."))
    assert (unknown.what, unknown.remedy) == ("The {thing} broke.", "Mend it."), "braces of its own are left alone"
    assert "ZeroDivisionError" in words_for(ZeroDivisionError("x")).remedy
