"""New run: model, data, method and plan."""

from ui.views.new_run.wizard import NewRunView

__all__ = ["NewRunView"]
