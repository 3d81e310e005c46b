"""What plain calls are served with, beside that which their method is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import trio

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.wire.facts.codes import RequestCode


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCallServices:
    """The parts of the broker that serve plain calls.

    Attributes:
        storing: Stores what comes of them.
        metrics: Counts requests.
        guarded: Whether dispatch must see every request now.
        note: Called with a request code, how many seconds its requests took, and their number.
        monotonic: Measures that.
    """

    storing: MessageWriter
    metrics: Metrics
    guarded: Callable[[], bool]
    note: Callable[[int, float, int], None] | None = None
    monotonic: Callable[[], float] = trio.current_time

    @property
    def is_disabled(self) -> bool:
        """Whether no call is plain now."""
        return self.storing.waits_for_disk or self.guarded()

    def count(self, code: RequestCode, times: int, began: float) -> None:
        """Count requests that were begun at a time."""
        if times:
            self.metrics.requests[code] += times
            if self.note is not None:
                self.note(code, self.monotonic() - began, times)
