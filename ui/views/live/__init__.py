from ui.views.live.view import LiveView

__all__ = ["LiveView"]
