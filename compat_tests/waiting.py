"""Waiting for what happens sooner or later."""

from __future__ import annotations

import time
from collections.abc import Callable

WITHIN = 120.0  # seconds: longer than a machine that does much else needs


def wait_until(
    holds: Callable[[], bool], what: str | Callable[[], object] = "it does not happen", *, within: float = WITHIN
) -> None:
    """Return once something holds; AssertionError with `what` if it does not within so many seconds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within:.0f} s: {what() if callable(what) else what}"
        time.sleep(0.02)
