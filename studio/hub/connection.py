"""How this process reaches the Hub: endpoint and token by hand, because `huggingface_hub` reads `HF_*` at import.

What is set in Settings goes before the environment, as it will in the next child process.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from huggingface_hub import HfApi, constants, get_token
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # exported lazily

from studio.hub.session import hub_call, install
from studio.settings import Settings

TOKEN_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


@dataclass(frozen=True)
class Connection:
    """Where the Hub is and who we are there. None: as the environment has it."""

    endpoint: str | None = None
    offline: bool = False
    hub_home: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Connection:
        """The connection that these settings ask for."""
        home = Path(settings.hub_home).expanduser() if settings.hub_home else None
        return cls(settings.hub_endpoint, settings.hub_offline, home)

    @property
    def address(self) -> str:
        """The endpoint in use."""
        return (self.endpoint or constants.ENDPOINT).rstrip("/")

    def token(self) -> str | None:
        """The token of the environment, else the one that `huggingface_hub` keeps; None where there is none."""
        if self.hub_home is None:
            return get_token()
        for name in TOKEN_VARIABLES:
            if value := os.environ.get(name, "").strip():
                return value
        try:
            return (self.hub_home / "token").read_text(encoding="utf-8").strip() or None
        except OSError:
            return None

    def _sent_token(self) -> str | Literal[False]:
        return False if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else self.token() or False

    def api(self) -> HfApi:
        """`huggingface_hub`'s client for this endpoint and token."""
        install()
        return HfApi(endpoint=self.endpoint, token=self._sent_token())

    def headers(self) -> dict[str, str]:
        """The headers of a request to the Hub itself (never to another host)."""
        install()
        headers: dict[str, str] = build_hf_headers(token=self._sent_token())
        return headers

    def call(
        self, repository: str = "", cancelled: threading.Event | None = None
    ) -> contextlib.AbstractContextManager[None]:
        """A context in which calls of the Hub are bounded in time and raise our errors (`session.hub_call`)."""
        return hub_call(repository, endpoint=self.endpoint, offline=self.offline, cancelled=cancelled)
