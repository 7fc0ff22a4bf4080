"""Limits for tests: as patient as a test may be."""

from __future__ import annotations

from studio.hub.download_state import TransferLimits

IMPATIENT = TransferLimits(
    silence_seconds=1.5, stall_seconds=0.4, attempts=3, first_wait_seconds=0.01, longest_wait_seconds=0.02
)
