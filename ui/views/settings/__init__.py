from ui.views.settings.view import SettingsView

__all__ = ["SettingsView"]
