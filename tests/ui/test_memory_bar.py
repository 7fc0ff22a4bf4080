"""The memory bar's geometry: the width is the capacity until more is needed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from ui.widgets.hatches import CATEGORIES
from ui.widgets.memory_bar import MemoryBar, Segment, place

G = 2.0**30


def test_segments_share_the_width_in_proportion() -> None:
    placed = place([Segment("weights", 24 * G), Segment("activations", 12 * G)], 48 * G, 480)
    assert [box.segment.category for box in placed] == ["weights", "activations", "free"]
    assert [box.x for box in placed] == pytest.approx([0, 240, 360])
    assert [box.width for box in placed] == pytest.approx([238, 118, 120]), "2 px gaps, none after the last"
    assert placed[-1].segment.size == 12 * G


def test_past_capacity_the_scale_is_what_is_needed(qtbot: QtBot) -> None:
    bar = MemoryBar("GPU memory", place_name="this GPU")
    qtbot.addWidget(bar)
    bar.resize(716, 42)
    bar.set_memory([Segment("weights", 61 * G), Segment("optimizer", 10.6 * G)], 48 * G)
    assert [box.segment.category for box in bar.placed()] == ["weights", "optimizer"], "nothing is free"
    assert bar.over == pytest.approx(23.6 * G)
    assert bar.marker_x() == pytest.approx(480)
    assert bar.sizeHint().height() == 24 + 18, "room for the words about the limit"


def test_marker_stands_where_a_tenth_of_the_usable_is_left(qtbot: QtBot) -> None:
    bar = MemoryBar("GPU memory")
    qtbot.addWidget(bar)
    bar.resize(480, 24)
    bar.set_memory([Segment("weights", 10 * G)], 48 * G, usable=46.8 * G)
    assert bar.marker_x() == pytest.approx(480 * (48 - 4.68) / 48)


def test_tiny_segments_stay_visible_and_empty_ones_are_absent() -> None:
    placed = place([Segment("adapters", 1.0), Segment("gradients", 0)], 48 * G, 480)
    assert [box.segment.category for box in placed] == ["adapters", "free"]
    assert placed[0].width == 1.0
    with pytest.raises(ValueError):
        place([], 0, 480)


def test_bar_speaks_and_walks(qtbot: QtBot) -> None:
    bar = MemoryBar("GPU memory")
    qtbot.addWidget(bar)
    bar.show()
    bar.set_memory([Segment("weights", 24 * G, "8.0 B × 2 bytes × 1.5"), Segment("workspace", G)], 48 * G)
    assert bar.accessibleDescription() == "25.0 GiB of 48.0 GiB, weights 24.0 GiB, workspace 1.0 GiB"
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    assert "8.0 B × 2 bytes" in bar.accessibleDescription()
    qtbot.keyClick(bar, Qt.Key.Key_Right)
    assert bar.accessibleDescription() == "Workspace: 1.0 GiB"


def test_every_category_is_told_by_its_hatch_too(qtbot: QtBot) -> None:
    """In grey, no two categories look alike: colour is never alone."""
    pictures = []
    for category in CATEGORIES[:6]:
        bar = MemoryBar("x", labels=False)
        qtbot.addWidget(bar)
        bar.resize(60, 24)
        bar.set_memory([Segment(category, G)], G)
        image = bar.grab().toImage()
        greys = [image.pixelColor(x, y).lightness() for x in range(10, 40) for y in range(4, 20)]
        pictures.append(tuple(grey < max(greys) for grey in greys))
    assert len(set(pictures)) == len(pictures)
