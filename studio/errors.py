"""The errors and problems of the engine, for those above: `ui` imports nothing of `engine` itself."""

from engine.protocol.errors import Bug, EngineError, Problem, ProblemsError, SurroundingsError

__all__ = ["Bug", "EngineError", "Problem", "ProblemsError", "SurroundingsError"]
