"""How the test Hub answers: requests as records, faults as orders, and a file sent whole, in part or badly."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.helpers.hub_content import StoredFile

if TYPE_CHECKING:
    from tests.helpers.hub_server import HubServer

CHUNK = 4096


@dataclass(frozen=True)
class Request:
    """One request as it arrived. `server` is "hub" or "store"; header names are lower case."""

    server: str
    method: str
    path: str
    query: str
    headers: Mapping[str, str]


@dataclass
class Fault:
    """Something that goes wrong with the body of `file`, or with an answer whose path contains it."""

    kind: Literal["cut", "trickle", "stall", "busy", "corrupt", "ignore_range", "new_validator"]
    file: str
    at: int = 0
    times: int = 1
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    bytes_per_second: int = 100


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer
    place = ""

    def setup(self) -> None:
        super().setup()
        self.hub.opened(self.connection)

    def finish(self) -> None:
        self.hub.closed(self.connection)
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *_: object) -> None:
        """Silence: requests are recorded instead."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.hub.record(Request(self.place, self.command, parts.path, parts.query, headers))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if busy := self.hub.spend(("busy",), parts.path):
                self.say(busy.status, b"busy", busy.headers)
            else:
                self.route(unquote(parts.path), parse_qs(parts.query))

    def route(self, path: str, query: dict[str, list[str]]) -> None:
        raise NotImplementedError

    def say(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def say_json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        self.say(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send_file(self, file: StoredFile, validator: str, headers: Mapping[str, str]) -> None:
        """A file, or the part of it that Range and If-Range ask for, with whatever fault was ordered."""
        if self.hub.spend(("new_validator",), file.name):
            validator += "-changed"
        begin, partial = self._first_byte(file, f'"{validator}"')
        size = len(file.data)
        if partial and begin >= size:
            return self.say(416, b"", {"Content-Range": f"bytes */{size}"})
        self.send_response(206 if partial else 200)
        for key, value in {**headers, "ETag": f'"{validator}"', "Accept-Ranges": "bytes"}.items():
            self.send_header(key, value)
        if partial:
            self.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - begin))
        self.end_headers()
        if self.command == "GET":
            self._send_body(file, begin)
        return None

    def _first_byte(self, file: StoredFile, validator: str) -> tuple[int, bool]:
        asked = self.headers.get("Range")
        unchanged = self.headers.get("If-Range", validator) == validator
        if not asked or not unchanged or self.hub.spend(("ignore_range",), file.name):
            return 0, False
        return int(asked.removeprefix("bytes=").partition("-")[0]), True

    def _send_body(self, file: StoredFile, begin: int) -> None:
        fault = self.hub.spend(("cut", "trickle", "stall", "corrupt"), file.name)
        data = bytearray(file.data)
        if fault and fault.kind == "corrupt":
            data[fault.at] ^= 0xFF
            fault = None
        quick_until = max(begin, fault.at) if fault else len(data)
        for start in range(begin, quick_until, CHUNK):
            self.wfile.write(data[start : min(start + CHUNK, quick_until)])
        if fault is None:
            return
        self.wfile.flush()
        if fault.kind == "trickle":
            step = max(1, fault.bytes_per_second // 20)
            for start in range(quick_until, len(data), step):
                if self.hub.closing.wait(0.05):
                    break
                self.wfile.write(data[start : start + step])
        elif fault.kind == "stall":
            self.hub.closing.wait(60)
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
