"""Keeping secrets out of messages and logs: tokens, signed addresses, credentials inside an address."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_TOKEN = re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9_-]{4,}|(?i:bearer)\s+[^\s'\",)]+")
_QUERY = re.compile(r"(https?://[^\s'\"?]+)\?[^\s'\")]+")
_LOGIN = re.compile(r"(https?://)[^\s/@'\"]+@")


def redact(text: str, *known: str | None) -> str:
    """`text` without anything that opens a door; `known` are secrets that follow no pattern."""
    for secret in known:
        if secret:
            text = text.replace(secret, "[secret]")
    text = _TOKEN.sub("[secret]", text)
    text = _QUERY.sub(r"\1?[secret]", text)
    return _LOGIN.sub(r"\1[secret]@", text)


def safe_address(url: str) -> str:
    """Scheme, host, port and path of an address: without login, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def origin(url: str) -> tuple[str, str, int | None]:
    """What must be equal for credentials to be sent: scheme, host and port."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"https": 443, "http": 80}.get(parts.scheme)
