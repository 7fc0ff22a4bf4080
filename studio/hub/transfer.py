"""The bytes of one file: asked for from where we are (Range), only if the file is still the same (If-Range), verified.

    metadata (etag, size, address) ─► GET from the first missing byte ─► .part grows ─► hash ─► whole
                  ▲                                   │ cut, stall, busy, expired address
                  └──────────── wait ◄────────────────┘

`Download` state that others see (bytes so far, why it waits) goes out through `Watcher`.
"""

from __future__ import annotations

import contextlib
import email.utils
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol  # Any: a response is httpx's in huggingface_hub 1.x and httpx2's in 2.x
from urllib.parse import urljoin

from huggingface_hub import get_session

from engine.protocol.errors import Problem, SurroundingsError
from engine.protocol.files import disk
from studio.hub.checksum import Checksum
from studio.hub.download_state import TransferLimits
from studio.hub.secrets import origin, safe_address
from studio.hub.session import CONNECT_SECONDS, TransportError

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d*/(\d+|\*)")
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class Stopped(Exception):
    """Somebody asked us to stop."""


class Transient(Exception):
    """It may go better next time. `wait_seconds` is what the server asked for."""

    def __init__(self, problem: Problem, wait_seconds: float | None = None) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.wait_seconds = wait_seconds


class Watcher(Protocol):
    """Who is told how it goes, and who says when to stop."""

    stopping: threading.Event

    def at(self, done_bytes: int) -> None:
        """So many bytes of the file are on disk."""

    def waits(self, notice: Problem | None) -> None:
        """Why nothing moves; None when it moves again."""


@dataclass(frozen=True)
class Source:
    """Where the bytes are now. `headers` hold credentials and go to the origin of `home` only."""

    address: str
    home: str
    headers: Mapping[str, str]


class Body:
    """A file on its way: `part` holds its first bytes, beside it lies the validator of the answer that they came with.

    One instance a file and process; `receive` may be called again.
    """

    def __init__(self, part: Path, etag: str, size: int, limits: TransferLimits, watcher: Watcher) -> None:
        self._part = part
        self._size = size
        self._limits = limits
        self._watcher = watcher
        self._checksum = Checksum(etag, size)
        self._validator_file = part.with_suffix(".validator")

    @property
    def position(self) -> int:
        """Bytes on disk."""
        return self._part.stat().st_size if self._part.exists() else 0

    def receive(self, source: Source) -> None:
        """Fetch what is missing and verify the whole.

        Raises Stopped, Transient (also for a wrong hash: the part is gone then), or OSError from the disk.
        """
        if self.position > self._size:
            self._discard()
        if self.position < self._size or self._size == 0:
            with self._opened(source) as response:
                self._take(response)
        self._checksum.catch_up(self._part, self._size)
        if not self._checksum.holds():
            self._discard()
            raise Transient(_corrupt(self._part.stem))

    def _discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self._validator_file.unlink(missing_ok=True)
        self._checksum.restart()
        self._watcher.at(0)

    @contextlib.contextmanager
    def _opened(self, source: Source) -> Iterator[Any]:  # Any: see the import
        headers = {"Accept-Encoding": "identity"}
        if self.position:
            headers["Range"] = f"bytes={self.position}-"
            if self._validator_file.exists():
                headers["If-Range"] = self._validator_file.read_text(encoding="latin-1")
        address = source.address
        with contextlib.ExitStack() as stack:
            for _ in range(_MOST_REDIRECTS):
                own = source.headers if origin(address) == origin(source.home) else {}
                response = stack.enter_context(
                    get_session().stream(
                        "GET", address, headers={**own, **headers}, follow_redirects=False, timeout=self._timeout()
                    )
                )
                if response.status_code not in _REDIRECTS:
                    yield response
                    return
                address = urljoin(address, response.headers.get("Location", ""))
        raise Transient(server_problem(310, source.home))

    def _timeout(self) -> tuple[float, float, float, float]:
        """Connect, read, write and pool, as httpx takes them."""
        return CONNECT_SECONDS, self._limits.silence_seconds, self._limits.silence_seconds, CONNECT_SECONDS

    def _take(self, response: Any) -> None:  # Any: see the import
        status = response.status_code
        if status == 416:  # the server's file is not the one that we have begun
            self._discard()
            raise Transient(server_problem(status, str(response.request.url)))
        if status not in (200, 206):
            raise refusal(status, response.headers, str(response.request.url))
        begin = self._begin(response) if status == 206 else 0
        if begin != self.position:
            if begin != 0:
                raise Transient(server_problem(status, str(response.request.url)))
            self._discard()
        if validator := _strong(response.headers.get("ETag")):
            self._validator_file.write_text(validator, encoding="latin-1")
        if self.position:
            self._checksum.catch_up(self._part, self.position)
        self._write(response.iter_raw())

    @staticmethod
    def _begin(response: Any) -> int:  # Any: see the import
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        return int(match[1]) if match else 0

    def _write(self, chunks: Iterator[bytes]) -> None:
        pace = _Pace(self._limits)
        with self._part.open("ab") as file:
            position = file.tell()
            self._watcher.waits(None)
            for chunk in chunks:
                if position + len(chunk) > self._size:
                    raise Transient(_corrupt(self._part.stem))
                disk().write(file, chunk)
                self._checksum.update(chunk)
                position += len(chunk)
                self._watcher.at(position)
                if self._watcher.stopping.is_set():
                    raise Stopped
                pace.count(len(chunk))
            disk().sync(file)
        if position < self._size:
            raise Transient(_cut())


class _Pace:
    """Notices a connection that trickles: open, but not worth waiting for."""

    def __init__(self, limits: TransferLimits) -> None:
        self._limits = limits
        self._since = time.monotonic()
        self._bytes = 0

    def count(self, received: int) -> None:
        """Raises Transient when a whole window brought too little."""
        self._bytes += received
        elapsed = time.monotonic() - self._since
        if elapsed < self._limits.stall_seconds:
            return
        if self._bytes < self._limits.stall_bytes_per_second * elapsed:
            raise Transient(Problem("download_stalled", "The connection almost stood still; it is renewed.", ""))
        self._since, self._bytes = time.monotonic(), 0


def refusal(status: int, headers: Mapping[str, str], url: str) -> Exception:
    """What a status other than success means: Transient, or an error that waiting does not cure."""
    if status in _PASSING:
        return Transient(server_problem(status, url), retry_after(headers.get("Retry-After")))
    if status in (400, 401, 403, 404, 410):  # a signed address has run out: the Hub gives a fresh one
        return Transient(server_problem(status, url))
    return error_of(server_problem(status, url))


def error_of(problem: Problem) -> SurroundingsError:
    """The error that a problem would be, were it not passing."""
    error = SurroundingsError(problem.code, problem.message, problem.remedy)
    error.arguments = dict(problem.arguments)
    return error


def network_failure(error: Exception, address: str) -> Transient:
    """A connection that failed or ended early."""
    place = safe_address(address)
    return Transient(
        Problem(
            "hub_unreachable",
            f"The connection to {place} failed ({type(error).__name__}).",
            "Check the network and the proxy, then resume: what has come stays.",
            arguments={"address": place},
        )
    )


def is_network_failure(error: Exception) -> bool:
    """Whether an exception is the network's and not the disk's."""
    return isinstance(error, TransportError)


def server_problem(status: int, url: str) -> Problem:
    """A status of the server, in words."""
    address = safe_address(url)
    if status == 429:
        return Problem("hub_busy", f"{address} asks us to slow down.", "It goes on by itself.")
    return Problem(
        "hub_server_error",
        f"{address} answered with status {status}.",
        "Try again later: what has come stays.",
        arguments={"status": status, "address": address},
    )


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for; it may be a number or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _strong(etag: str | None) -> str | None:
    """The validator for If-Range, which must be a strong one."""
    return etag if etag and etag.startswith('"') else None


def _cut() -> Problem:
    return Problem("download_cut", "The connection was cut before the end of the file.", "It goes on by itself.")


def _corrupt(name: str) -> Problem:
    return Problem(
        "checksum_mismatch",
        "What came is not what the Hub announced; the file is fetched again from its beginning.",
        "If it happens again, a proxy or the disk damages files.",
        arguments={"etag": name},
    )
