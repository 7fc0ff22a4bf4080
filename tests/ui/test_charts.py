"""Charts: what is plotted is what was given, and the average is the average that the label says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.helpers.qt_walk import assert_walkable
from ui.appearance import Appearance
from ui.theme import LIGHT
from ui.widgets.chart_card import ChartCard
from ui.widgets.chart_menu import show_table
from ui.widgets.chart_series import Points, Smoother, nearest, trend
from ui.widgets.sparkline import thin


def test_smoothing_is_an_ema_with_bias_correction() -> None:
    values = np.array([4.0, 2.0, 3.0, 5.0])
    beta, average, expected = 0.9, 0.0, []
    for step, value in enumerate(values, start=1):
        average = beta * average + (1 - beta) * value
        expected.append(average / (1 - beta**step))
    np.testing.assert_allclose(Smoother(beta)(values), expected, rtol=1e-12)
    assert Smoother(beta)(values)[0] == pytest.approx(4.0), "without the correction it would start at 0.4"
    np.testing.assert_array_equal(Smoother(0.0)(values), values)


def test_smoothing_goes_on_where_it_was_and_starts_again_when_the_past_changed() -> None:
    values = np.random.default_rng(1).normal(size=50)
    smoother = Smoother(0.8)
    for end in (10, 11, 50):
        np.testing.assert_allclose(smoother(values[:end]), Smoother(0.8)(values[:end]))
    changed = values.copy()
    changed[3] += 1
    np.testing.assert_allclose(smoother(changed), Smoother(0.8)(changed))


def test_not_a_number_is_a_gap_and_leaves_the_average_alone() -> None:
    shown = Smoother(0.5)(np.array([2.0, math.nan, 2.0]))
    assert shown[0] == 2.0 and math.isnan(shown[1]) and shown[2] == pytest.approx(2.0)


def test_points_refuse_different_lengths() -> None:
    with pytest.raises(ValueError, match="lengths"):
        Points.of([1, 2], [0.5])
    points = Points.of([1, 2], [0.5, None])
    assert math.isnan(points.value[1]) and list(points.x("tokens")) == [1, 2], "unknown axis: steps"


def _card(qtbot: QtBot) -> ChartCard:
    card = ChartCard("Loss", axis_switch=True)
    card.add_series("loss", "training loss", 1, "smoothed")
    card.add_series("evaluation_loss", "evaluation loss", 2, "evaluation")
    qtbot.addWidget(card)
    card.resize(640, 320)
    card.show()
    return card


def test_plotted_values_are_the_given_ones_on_every_axis(qtbot: QtBot) -> None:
    card = _card(qtbot)
    assert card.state == "waiting" and card.plotted("loss")[0].size == 0, "no zeros before the first point"
    points = Points.of([1, 2, 3], [1.5, 1.25, 1.0], [10, 20, 30], [4096, 8192, 12288])
    card.set_points("loss", points)
    card.set_points("evaluation_loss", Points.of([3], [1.1], [31], [12288]))
    assert card.state == "live"
    x, y = card.plotted("loss")
    assert list(x) == [1, 2, 3] and list(y) == [1.5, 1.25, 1.0]
    np.testing.assert_allclose(card.smoothed("loss"), Smoother(0.9)(points.value))
    card.set_axis("time")
    assert list(card.plotted("loss")[0]) == [10, 20, 30] and list(card.plotted("evaluation_loss")[0]) == [31]
    card.set_axis("tokens")
    assert list(card.plotted("loss")[0]) == [4096, 8192, 12288]
    assert card.plot.crosshair.isVisible() is False
    headers, rows = card.table()
    assert headers == ["Step", "training loss", "evaluation loss"]
    assert rows == [["1", "1.500", ""], ["2", "1.250", ""], ["3", "1.000", "1.100"]]
    assert card.csv().splitlines()[1] == "loss,1,10.0,4096.0,1.5"
    dialog = show_table(card)
    qtbot.addWidget(dialog)
    dialog.close()


def test_crosshair_by_key_reads_the_points(qtbot: QtBot) -> None:
    card = _card(qtbot)
    card.set_points("loss", Points.of(list(range(1, 101)), [1 / step for step in range(1, 101)]))
    card.plot.setFocus()
    qtbot.keyClick(card.plot, Qt.Key.Key_Left)
    assert "Step 99" in card._readout.accessibleName() and "0.010" in card._readout.accessibleName()
    qtbot.keyClick(card.plot, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert "Step 89" in card._readout.accessibleName()
    assert "falling" in card.summary() and card.summary().startswith("training loss 0.010")


def test_pixels_of_the_plot_change_and_the_theme_is_followed(qtbot: QtBot, appearance: Appearance) -> None:
    card = _card(qtbot)
    card.set_state("live")
    empty = card.plot.grab().toImage()
    card.set_points("loss", Points.of([1, 2, 3], [3.0, 1.0, 2.0]))
    qtbot.waitExposed(card)
    assert card.plot.grab().toImage() != empty
    appearance.choose("light")
    assert card._series["loss"].main.opts["pen"].color().name().upper() == LIGHT.series[0]


def test_states_say_why(qtbot: QtBot) -> None:
    card = _card(qtbot)
    assert "step 1" in card._message.text()
    card.set_state("error", "The log cannot be read.")
    assert card._message.text() == "The log cannot be read." and not card.plot.isVisible()
    card.set_state("stale", "4 steps late")
    assert card.meta.text() == "4 steps late" and card.plot.isVisible()
    card.set_state("hidden")
    assert not card.isVisible()


def test_card_can_be_walked(qtbot: QtBot) -> None:
    card = _card(qtbot)
    card.set_points("loss", Points.of([1], [1.0]))
    assert_walkable(card)


def test_small_mathematics() -> None:
    points = Points.of([10, 20, 30], [1, 2, 3])
    assert [nearest(points, "step", at) for at in (-5, 14, 16, 99)] == [0, 0, 1, 2]
    assert nearest(Points(), "step", 1) is None
    assert trend(np.array([2.0] * 5)) is None
    assert trend(np.linspace(2, 1, 11)) == pytest.approx(-0.5)
    long = list(range(1000))
    assert len(thin(long)) == 60 and thin(long)[-1] == 999 and thin(long)[0] == 0
