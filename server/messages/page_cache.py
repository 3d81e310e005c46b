"""Page-cache-busy protection: what waited behind an append that took too long is refused (SYSTEM_BUSY).

A disk that cannot keep up shows in appends that hang: the kernel makes the writer wait for pages. Producers that
waited behind one are better off at another broker, so they get that answer, as from Apache's broker.

Appending blocks the only thread, so no request can be answered while it hangs. The requests that waited are known
afterwards: their bytes lie in the sockets when the append returns. They are what is handled in the rest of this pass of
the event loop, and in the next, which begins with everything that became readable meanwhile. What comes in the pass
after that did not wait and is stored.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import SystemBusy
from rocketwire.server.messages.keys import PageCacheKeys
from rocketwire.store.event import Event

log = logging.getLogger(__name__)

_PASSES: Final = 2


class PageCacheGuard(trio.abc.Instrument):
    """Notices slow appends of one broker; only after one it counts the loop's passes.

    Attributes:
        now: Gives the event loop's time in seconds.
        busy: What is handled now waited behind a slow append.
        times: How long appends take.
        noticed: Called when it becomes so.
    """

    def __init__(self, keys: LiveGroup[PageCacheKeys], *, now: Callable[[], float] = trio.current_time) -> None:
        self.now = now
        self.is_busy = False
        self.on_busy = Event[[]]()
        self.times = AppendTimes()
        self._keys = keys
        self._since = 0.0
        self._passes_left = 0

    def note_append(self, began: float) -> None:
        """Note that a group was appended that was begun at a time of `now`."""
        took = (self.now() - began) * 1000
        if took >= LEAST_MS:
            self._note(took, began)

    def _note(self, took: float, began: float) -> None:
        self.times.note(took)
        keys = self._keys.current
        if took > keys.os_page_cache_busy_time_out_mills and keys.broker_fast_failure_enable:
            self.is_busy = True
            self._since = began
            self._passes_left = _PASSES
            log.warning("an append took %(took_ms).0f ms: sends that waited behind it are refused", {"took_ms": took})
            trio.lowlevel.add_instrument(self)
            self.on_busy()

    def refusal(self, waiting: int) -> SystemBusy:
        """Why so many messages of one read are refused: they waited since the slow append began, at most."""
        return SystemBusy(round((self.now() - self._since) * 1000), waiting)

    def after_io_wait(self, _timeout: float) -> None:
        """Called by trio when a pass begins."""
        self._passes_left -= 1
        if not self._passes_left:
            self.is_busy = False
            trio.lowlevel.remove_instrument(self)


LEAST_MS: Final = 1
"""Faster appends are not noted."""
_CLASSES: Final = (10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_SLOW: Final = len(_CLASSES) + 1
_NAMES: Final = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)


class AppendTimes:
    """The appends of one broker: the longest one, and the distribution within the last whole minute.

    The classes of milliseconds are Apache's. Only groups that took a millisecond or more are noted, each once: there
    are few. All other messages are in the first class.

    Attributes:
        longest_ms: The longest since the start.
    """

    def __init__(self) -> None:
        self.longest_ms = 0
        self._slow, self._last_slow = [0] * _SLOW, [0] * _SLOW
        self._messages = self._last_messages = 0

    def note(self, took_ms: float) -> None:
        """Note an append that was not fast."""
        milliseconds = int(took_ms)
        self.longest_ms = max(self.longest_ms, milliseconds)
        self._slow[bisect_right(_CLASSES, milliseconds)] += 1

    def end_minute(self, messages: int) -> None:
        """Begin a new minute; `messages` were stored since the start."""
        self._last_slow, self._slow = self._slow, [0] * _SLOW
        self._last_messages, self._messages = messages - self._messages, messages

    def counts(self) -> list[int]:
        """The distribution of the last whole minute."""
        return [max(0, self._last_messages - sum(self._last_slow)), *self._last_slow]

    def text(self) -> str:
        """The distribution as Apache prints it."""
        return "".join(f"[{name}]:{count} " for name, count in zip(_NAMES, self.counts(), strict=True))

    def percentile(self, part: float) -> float:
        """A time in ms that so much of the appends did not exceed: the bound of its class, the longest beyond all."""
        counts = self.counts()
        rest = part * sum(counts)
        for count, bound in zip(counts, (0, *_CLASSES), strict=False):
            rest -= count
            if rest <= 0:
                return float(min(bound, self.longest_ms))
        return float(self.longest_ms)
