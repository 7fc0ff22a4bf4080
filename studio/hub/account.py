"""The Hub account. The token lies where `huggingface_hub` keeps it and nowhere else: we never write it ourselves.

Signing in and out happens in a child process with the environment that Settings ask for, so that the token lands in
the home, and is shown to the endpoint, that the next download will use. It travels by standard input, never by command
line.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import msgspec
from huggingface_hub import get_token, login, logout
from huggingface_hub.utils import get_stored_tokens  # type: ignore[attr-defined]  # exported lazily

from engine.protocol.errors import Problem, SurroundingsError
from studio.environment import module_command
from studio.hub.connection import TOKEN_VARIABLES, Connection
from studio.hub.records import AccountState, TokenSource
from studio.hub.secrets import redact
from studio.hub.session import hub_call

PATIENCE_SECONDS = 90


class Account:
    """Sign in, check, sign out. Blocking; for worker threads."""

    def __init__(self, connection: Connection, environment: Callable[[], Mapping[str, str]]) -> None:
        self._connection = connection
        self._environment = environment

    def check(self) -> AccountState:
        """Who the token belongs to. A refused token is a state with a problem; an unreachable Hub raises."""
        token = self._connection.token()
        if token is None:
            return AccountState(signed_in=False)
        try:
            name, role = self._who(token)
        except SurroundingsError as error:
            if error.code != "hub_token_refused":
                raise
            return AccountState(signed_in=False, source=_source(), problem=error.problem())
        return AccountState(signed_in=True, name=name, role=role, source=_source())

    def sign_in(self, token: str) -> AccountState:
        """Ask the Hub who this token belongs to and, if it is good, have `huggingface_hub` keep it.

        Raises SurroundingsError: "hub_token_refused" (nothing is kept then), "hub_token_not_kept", or another "hub_…".
        A token in the environment goes before the kept one: the state that comes back is of the one in force.
        """
        token = token.strip()
        if not token:
            raise SurroundingsError("hub_token_refused", "No token was given.", "Paste one from the Hub's settings.")
        self._who(token)
        self._in_child("keep", token)
        return self.check()

    def sign_out(self) -> AccountState:
        """Have `huggingface_hub` forget its tokens. One in the environment stays, and the state says so."""
        self._in_child("forget", "")
        remains = self._connection.token() is not None
        return AccountState(signed_in=remains, source=_source() if remains else "none")

    def _who(self, token: str) -> tuple[str, str]:
        with self._connection.call():
            answer = self._connection.api().whoami(token=token)
        access = (answer.get("auth") or {}).get("accessToken") or {}
        return str(answer.get("name", "")), str(access.get("role", ""))

    def _in_child(self, action: str, token: str) -> None:
        try:
            done = subprocess.run(
                module_command("studio.hub.account", action),
                input=token,
                capture_output=True,
                encoding="utf-8",
                env=dict(self._environment()),
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _not_kept(type(error).__name__) from None
        if done.returncode == 0:
            return
        try:
            problem = msgspec.json.decode(done.stdout, type=Problem)
        except msgspec.MsgspecError:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise _not_kept(redact(last, token)) from None
        raise SurroundingsError(problem.code, problem.message, problem.remedy)


def _source() -> TokenSource:
    return "environment" if any(os.environ.get(name) for name in TOKEN_VARIABLES) else "stored"


def _not_kept(reason: str) -> SurroundingsError:
    return SurroundingsError(
        "hub_token_not_kept",
        f"huggingface_hub could not change the stored token: {reason}.",
        "Use `hf auth login` or `hf auth logout` in a terminal.",
    )


def _forget() -> None:
    """Sign out of the token in force only: others that the user stored with `hf auth` are theirs."""
    active = get_token()
    name = next((name for name, token in get_stored_tokens().items() if token == active), None)
    with contextlib.suppress(OSError):  # raised when the environment's token remains; the parent sees that for itself
        logout(name)


def main(arguments: list[str]) -> int:
    """The child: `keep` reads a token from standard input, `forget` needs none. A problem goes to standard output."""
    if arguments == ["forget"]:
        _forget()
        return 0
    token = sys.stdin.read().strip()
    try:
        with hub_call():
            login(token=token, add_to_git_credential=False)
    except SurroundingsError as error:
        sys.stdout.buffer.write(msgspec.json.encode(error.problem()))
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
