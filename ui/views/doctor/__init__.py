from ui.views.doctor.view import DoctorView

__all__ = ["DoctorView"]
