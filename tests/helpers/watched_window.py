"""The window's program with a report: `watched_window REPORT ARGUMENTS…` does what `python -m ui ARGUMENTS` does.

REPORT is JSON: seconds from the start of the process until the window's first paint, resident bytes, and which heavy
modules were imported. It is written after the first paint, and again at the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import psutil
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QMainWindow

HEAVY = ("torch", "transformers", "tokenizers", "pyarrow", "pycuda", "peft")


class FirstPaint(QObject):
    """Notices when the main window has painted for the first time."""

    def __init__(self, report: Path) -> None:
        super().__init__()
        self.report = report
        self.seconds = 0.0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the time, after the paint; never stop an event."""
        if not self.seconds and event.type() == QEvent.Type.Paint and isinstance(watched, QMainWindow):
            self.seconds = time.time() - psutil.Process().create_time()
            QTimer.singleShot(0, self.write)
        return False

    def write(self) -> None:
        """Write what is known so far, under another name first."""
        content = {
            "first_paint_seconds": self.seconds,
            "resident_bytes": psutil.Process().memory_info().rss,
            "heavy": sorted(name for name in HEAVY if name in sys.modules),
            "modules": len(sys.modules),
        }
        part = self.report.with_suffix(".part")
        part.write_text(json.dumps(content))
        part.replace(self.report)


def main() -> int:
    """Run the window to its end."""
    from ui.__main__ import main as run

    watch = FirstPaint(Path(sys.argv[1]))
    started = QApplication.exec

    def executed(application: QApplication) -> int:
        application.installEventFilter(watch)
        return started()

    QApplication.exec = executed  # type: ignore[method-assign,assignment]  # the program makes its application itself
    status = run(sys.argv[2:])
    watch.write()
    return status


if __name__ == "__main__":
    sys.exit(main())
