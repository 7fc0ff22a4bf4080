"""Pictures are taken of settled screens, at the scale that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.home import open_home
from ui import screenshots
from ui.appearance import Appearance
from ui.bridge import Tasks
from ui.routes import destinations, factories
from ui.screenshots import SHOTS, Shot, picture, settle, take, take_components
from ui.services import Services
from ui.shell.main_window import MainWindow
from ui.view import View


def test_pictures_at_both_scales(qtbot: QtBot, appearance: Appearance, tmp_path: Path) -> None:
    services = Services(open_home(tmp_path / "home"))
    places = [item for item in destinations({}) if item.route == "live"]
    window = MainWindow(appearance, Tasks(), services, places, {"live": View})
    qtbot.addWidget(window)
    window.show()
    try:
        written = take(window, [Shot("04-live", "live")], tmp_path, "dark", (1, 2))
        sheet = take_components(window, tmp_path, "dark")
    finally:
        window.close()
        services.close()
    assert [path.name for path in written] == ["04-live-dark.png", "04-live-dark@2x.png"]
    one, two = (QImage(str(path)) for path in written)
    assert (two.width(), two.height()) == (2 * one.width(), 2 * one.height())
    assert one.pixelColor(one.width() - 3, 5) == QColor("#0D1015"), "the top bar has the theme's colour"
    assert QImage(str(sheet)).width() >= 720


def test_scale_is_sharp(qtbot: QtBot) -> None:
    label = QLabel("Anneal")
    qtbot.addWidget(label)
    label.resize(100, 30)
    assert picture(label, 2).toImage().scaled(100, 30) != picture(label, 1).toImage(), "drawn anew, not enlarged"


def test_what_does_not_settle_is_said(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screenshots, "SETTLE_SECONDS", 0.2)
    with pytest.raises(TimeoutError):
        settle(lambda: False)


def test_every_shot_goes_where_a_screen_is() -> None:
    assert {shot.route for shot in SHOTS} == set(factories())
