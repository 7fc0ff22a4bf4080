from ui.views.export.view import ExportView

__all__ = ["ExportView"]
