"""Line icons from resources/icons, coloured by the theme."""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from ui import theme as themes
from ui.fonts import RESOURCES


@cache
def _source(name: str) -> str:
    return (RESOURCES / "icons" / f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=512)
def _renderer(name: str, colour: str, ground: str) -> QSvgRenderer:
    text = _source(name).replace("currentColor", colour).replace("groundColor", ground)
    renderer = QSvgRenderer(QByteArray(text.encode()))
    if not renderer.isValid():
        raise ValueError(f"{name}.svg is not an icon that Qt can draw.")
    return renderer


def paint_icon(painter: QPainter, rect: QRectF, name: str, token: str = "tx2", ground: str = "bg2") -> None:
    """Draw the icon `name` into `rect` in the theme's colour `token`."""
    theme = themes.current()
    _renderer(name, theme.color(token).name(), theme.color(ground).name()).render(painter, rect)


def pixmap(name: str, token: str = "tx2", size: int = 18, ground: str = "bg2") -> QPixmap:
    """The icon as a pixmap of `size` logical pixels, sharp on the densest screen present."""
    application = QApplication.instance()
    ratio = application.devicePixelRatio() if isinstance(application, QApplication) else 1.0
    result = QPixmap(round(size * ratio), round(size * ratio))
    result.setDevicePixelRatio(ratio)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    paint_icon(painter, QRectF(0, 0, size, size), name, token, ground)
    painter.end()
    return result


def icon(name: str, token: str = "tx2", size: int = 18, disabled: str = "tx3") -> QIcon:
    """A QIcon in the colours of the theme in force; make it anew when the theme changes."""
    result = QIcon(pixmap(name, token, size))
    result.addPixmap(pixmap(name, disabled, size), QIcon.Mode.Disabled)
    return result
