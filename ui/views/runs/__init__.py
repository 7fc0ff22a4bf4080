from ui.views.runs.view import RunsView

__all__ = ["RunsView"]
