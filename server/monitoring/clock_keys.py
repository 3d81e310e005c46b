"""Keys of the movable clock: docs/testing-applications.md."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import OURS, key


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockKeys:
    """Whether the server's clock can be moved."""

    movable_clock: bool = key("the clock may be set ahead over HTTP, for tests", default=False, known=OURS)
