"""How a model says that it cannot be trained, and why: shown in its row of the model list."""

from __future__ import annotations

from engine.protocol.errors import SurroundingsError


def refuse(field: str, why: str, code: str = "model_unsupported") -> SurroundingsError:
    """The error for a field of config.json. Raise it."""
    remedy = "Choose another model: this one would be trained with different mathematics than it was made for."
    return SurroundingsError(code, f"config.json: {field} {why}.", remedy, where=field)
