"""`python -m engine.data`: the data worker. It reads strangers' data and templates, so it may be killed at any time."""

from __future__ import annotations

import argparse
import os
import sys

MEMORY_BYTES = 4 << 30


def main() -> None:
    """Serve requests from standard input until `stop` or its end."""
    parser = argparse.ArgumentParser(prog="python -m engine.data", description=__doc__)
    parser.add_argument("--memory-bytes", type=int, default=MEMORY_BYTES, help="private memory that it may use")
    arguments = parser.parse_args()
    # Read before the libraries are: one allocator that respects the limit, and no more threads than help.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from engine.data.limits import limit_memory
    from engine.data.worker import Worker

    # Answers get a handle of their own; whatever a library prints goes to the log instead.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit_memory(arguments.memory_bytes)
    Worker(answers).serve(sys.stdin.buffer)


if __name__ == "__main__":
    main()
