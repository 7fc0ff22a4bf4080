"""Nothing secret leaves in a message, a traceback or a log: tokens are cut out by value and by shape."""

from __future__ import annotations

import os
import re

SECRET_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN")
_SHAPES = re.compile(r"hf_[A-Za-z0-9]{16,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)|(?i:(?<=bearer ))[A-Za-z0-9._~+/=-]{8,}")
REPLACEMENT = "‹secret›"


def redact(text: str) -> str:
    """`text` without Hub tokens, bearer tokens, and passwords in addresses."""
    for name in SECRET_VARIABLES:
        value = os.environ.get(name)
        if value:
            text = text.replace(value, REPLACEMENT)
    return _SHAPES.sub(REPLACEMENT, text)
