"""The one place where `huggingface_hub`'s client is set up, bounded in time, and its errors become ours.

`huggingface_hub` waits for ever in several calls (a listing has no time-out in 1.x and 2.x) and retries an unreachable
host for half a minute, a busy one for as long as it asks. Its public `set_client_factory` lets us hang hooks around
each request: there we fill in missing time-outs, stop after two attempts at one address, and notice that another thread
cancelled the call.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any  # Any: a request is httpx's in huggingface_hub 1.x and httpx2's in 2.x

from huggingface_hub import constants, get_session, is_offline_mode, set_client_factory
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from engine.protocol.errors import EngineError, SurroundingsError
from studio.hub.secrets import safe_address

CONNECT_SECONDS = 10.0
READ_SECONDS = 20.0
ATTEMPTS = 2

# httpx.HTTPError in 1.x, httpx2.HTTPError in 2.x: the documented base of HfHubHTTPError, and of every network failure.
TransportError: type[Exception] = HfHubHTTPError.__bases__[0]


class HubCancelled(Exception):
    """Another thread cancelled the call; nobody waits for its result."""


@dataclass
class _Call:
    cancelled: threading.Event | None
    attempts: Counter[str] = field(default_factory=Counter)


_call: ContextVar[_Call | None] = ContextVar("hub_call", default=None)


@functools.cache
def install() -> None:
    """Make every client of `huggingface_hub` in this process carry our hook, and keep its telemetry quiet.

    Left alone, 2.x asks huggingface.co once a day which coding agents there are, whatever the endpoint is, to tell
    about them in its user agent. The app sends nothing that nobody asked it to send. Later calls do nothing.
    """
    constants.HF_HUB_DISABLE_TELEMETRY = True
    session = get_session()
    kind, hooks = type(session), session.event_hooks

    def factory() -> Any:  # Any: see the import
        ours: dict[str, list[Any]] = {  # Any: hooks take what the import says
            "request": [*hooks.get("request", []), _before_request],
            "response": [*hooks.get("response", []), _after_response],
        }
        return kind(event_hooks={**hooks, **ours}, follow_redirects=True, timeout=None)

    set_client_factory(factory)


def _before_request(request: Any) -> None:  # Any: see the import
    limits = request.extensions.setdefault("timeout", {})
    for name in ("connect", "read", "write", "pool"):
        if limits.get(name) is None:
            limits[name] = CONNECT_SECONDS if name == "connect" else READ_SECONDS
    call = _call.get()
    if call is None:
        return
    if call.cancelled is not None and call.cancelled.is_set():
        raise HubCancelled
    call.attempts[_address(request)] += 1
    if call.attempts[_address(request)] > ATTEMPTS:
        raise unreachable(str(request.url))


def _after_response(response: Any) -> None:  # Any: see the import
    """Say at once what `huggingface_hub` would sleep over: a busy Hub may ask for minutes."""
    call = _call.get()
    if call is None:
        return
    status, attempts = response.status_code, call.attempts[_address(response.request)]
    if status == 429 or (status >= 500 and attempts >= ATTEMPTS):
        raise _status_error(status, response.headers.get("Retry-After"), str(response.request.url))


def _address(request: Any) -> str:  # Any: see the import
    return f"{request.method} {request.url}"


@contextlib.contextmanager
def hub_call(
    repository: str = "",
    *,
    endpoint: str | None = None,
    offline: bool = False,
    cancelled: threading.Event | None = None,
) -> Iterator[None]:
    """Run calls of `huggingface_hub` inside: bounded, cancellable by the event, errors translated.

    Raises SurroundingsError with a code of `hub_error`, or HubCancelled.
    """
    install()
    if offline or is_offline_mode():
        raise offline_error()
    before = _call.set(_Call(cancelled))
    try:
        yield
    except (EngineError, HubCancelled):
        raise
    except (TransportError, OSError, ValueError) as error:
        raise hub_error(error, repository, endpoint or constants.ENDPOINT) from error
    finally:
        _call.reset(before)


def offline_error() -> SurroundingsError:
    return SurroundingsError(
        "hub_offline",
        "The Hub is switched off: offline mode is on.",
        "Models on this disk can be used. To search and download, turn it off in Settings or unset HF_HUB_OFFLINE.",
    )


def unreachable(url: str) -> SurroundingsError:
    address = safe_address(url)
    return SurroundingsError(
        "hub_unreachable",
        f"The Hub does not answer at {address}.",
        "Check the network and the proxy. Models on this disk can be used meanwhile.",
        address=address,
    )


def model_page(repository: str, endpoint: str | None) -> str:
    """The address of a model's page, for a person to open."""
    return safe_address(f"{(endpoint or constants.ENDPOINT).rstrip('/')}/{repository}")


def gated_error(repository: str, endpoint: str | None) -> SurroundingsError:
    page = model_page(repository, endpoint)
    return SurroundingsError(
        "hub_gated",
        f"{repository} is gated: its authors ask you to accept a licence before its files can be downloaded.",
        f"Open {page}, accept the terms while signed in, and sign in here with a token of the same account.",
        repository=repository,
        url=page,
    )


def hub_error(error: Exception, repository: str, endpoint: str) -> SurroundingsError:
    """Our error for one of `huggingface_hub`'s. Addresses in it carry neither login nor signature."""
    if isinstance(error, OfflineModeIsEnabled):
        return offline_error()
    if isinstance(error, GatedRepoError):
        return gated_error(repository, endpoint)
    if isinstance(error, RevisionNotFoundError):
        return SurroundingsError(
            "hub_revision_not_found", f"{repository} has no such revision.", "Choose another.", repository=repository
        )
    if isinstance(error, EntryNotFoundError):
        return SurroundingsError("hub_file_not_found", f"A file of {repository} is not there.", repository=repository)
    if isinstance(error, RepositoryNotFoundError):
        return SurroundingsError(
            "hub_not_found",
            f"The Hub knows no model {repository}, or does not show it to you.",
            "Check the name; if it is private, sign in with a token that may read it.",
            repository=repository,
        )
    if isinstance(error, HFValidationError):
        return SurroundingsError(
            "hub_bad_name", f"“{repository}” is not the name of a model.", "A name looks like organisation/model."
        )
    if isinstance(error, HfHubHTTPError):
        return _status_error(error.response.status_code, error.response.headers.get("Retry-After"), endpoint)
    if isinstance(error, OSError) and error.errno and not isinstance(error, ConnectionError | TimeoutError):
        return SurroundingsError(
            "hub_files_unusable",
            f"huggingface_hub's own files cannot be used: {error.strerror or type(error).__name__}.",
            "Check HF_HOME, its permissions and its disk.",
        )
    if isinstance(error, ValueError):
        return SurroundingsError(
            "hub_bad_answer",
            f"{safe_address(endpoint)} answered with something that is not the Hub's language.",
            "Check HF_ENDPOINT and the proxy.",
            address=safe_address(endpoint),
        )
    return unreachable(endpoint)


def _status_error(status: int, retry_after: str | None, endpoint: str) -> SurroundingsError:
    address = safe_address(endpoint)
    if status == 401:
        return SurroundingsError(
            "hub_token_refused", "The Hub does not accept the token.", "Sign in again with a valid token."
        )
    if status == 403:
        return SurroundingsError(
            "hub_forbidden", "The token may not read this.", "Use a token with read access to this model."
        )
    if status == 429:
        return SurroundingsError(
            "hub_busy",
            "The Hub asks us to slow down.",
            f"Try again in {retry_after} s." if retry_after else "Try again in a minute.",
            retry_after=retry_after,
        )
    return SurroundingsError(
        "hub_server_error",
        f"{address} answered with status {status}.",
        "Try again later.",
        status=status,
        address=address,
    )
