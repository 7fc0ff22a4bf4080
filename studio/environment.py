"""The environment of a child process, built by name.

A child gets what it needs to run (paths, locale, proxies, certificates, CUDA, Hub) and nothing else that happens to
be in the parent's environment, so that a key of another service never reaches a log or a dump. Values set in Settings
win over inherited ones.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from studio.settings import Settings

_NAMES = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV"),
        *("SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE"),
        *("HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HUGGING_FACE_HUB_TOKEN"),
    )
)
_PREFIXES = (
    *("LC_", "XDG_", "HF_", "ANNEAL_"),
    *("CUDA_", "NVIDIA_", "CUDNN_", "OMP_", "MKL_", "KMP_", "TORCH_", "PYTORCH_"),
)
_PROJECT_ROOT = Path(__file__).resolve().parents[1]


def child_environment(inherited: Mapping[str, str], settings: Settings, *, home: Path) -> dict[str, str]:
    """The variables for the next child process.

    Args:
        inherited: normally `os.environ`.
        settings: those that change `HF_*` override what is inherited.
        home: our own home folder; a child finds its caches there.
    """
    chosen = {name: value for name, value in inherited.items() if _passes(name)}
    chosen.update(settings.hub_variables())
    chosen["HF_HUB_DISABLE_TELEMETRY"] = "1"  # the app sends nothing anywhere, and neither do the libraries it uses
    chosen["ANNEAL_HOME"] = str(home)
    chosen["PYTHONUNBUFFERED"] = "1"
    chosen["PYTHONUTF8"] = "1"
    chosen["PYTHONPATH"] = str(_PROJECT_ROOT)  # the same code as this process, also out of a checkout
    return chosen


def module_command(module: str, *arguments: str) -> list[str]:
    """The command line that runs one of our modules in this Python.

    `-P` keeps the working folder off the import path: a run or model folder must never shadow a module.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def _passes(name: str) -> bool:
    upper = name.upper()  # proxies are often lower case, and Windows names know no case
    return upper in _NAMES or upper.startswith(_PREFIXES)
