from ui.views.welcome.view import WelcomeView

__all__ = ["WelcomeView"]
