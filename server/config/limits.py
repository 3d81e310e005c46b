"""The limits in force, and the account of what they refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.config.config import ServerConfig
from rocketwire.server.config.keys import camel
from rocketwire.server.config.limit_keys import LimitKeys
from rocketwire.server.core.metrics import Metrics

log = logging.getLogger(__name__)

EACH_KEY: Final = "maxInFlightBytesPerConnection"
LIMITS: Final = (
    *map(camel, LimitKeys.__annotations__),
    *("waitForFlush", "tlsHandshakes", "orderLocks", "lockBytes", "filters", "brokers", "routes", "keyValues"),
    *(
        "headerBytes",
        "headerFields",
        "headerItems",
        "bodyEntries",
        "heartbeatGroups",
        "configBytes",
        "answerBytes",
        "brokerText",
    ),
    *("topicName", "batchMessages", "batchProperties"),
)
"""What refusals are counted by: keys, and names of limits that are fixed."""
_TOLD_AGAIN_SECONDS: Final = 10.0


class Limits:
    """What clients may take; `docs/limits.md` has the list.

    Attributes:
        longest_frame: Bytes of the longest frame that is taken, and the key that said so at the start.
        metrics: Counts refusals by the name of the limit's key.
    """

    def __init__(self, config: Callable[[], ServerConfig], metrics: Metrics) -> None:
        self._config = config
        self.metrics = metrics
        self._told: dict[str, float] = {}
        self.longest_frame: Final = min(
            (self.config.max_frame_bytes, "maxFrameBytes"),
            (self.config.max_in_flight_bytes_per_connection, EACH_KEY),
        )

    @property
    def config(self) -> ServerConfig:
        """The configuration, whose limits may change while the server runs."""
        return self._config()

    def refused(self, key: str, who: str) -> None:
        """Count what a limit refused to somebody, and log it: a line for each limit in ten seconds, not one each."""
        self.metrics.limited[key] += 1
        if self.line_is_due(key):
            log.warning("limit %s: %s refused, %d so far", key, who, self.metrics.limited[key])

    def line_is_due(self, kind: str) -> bool:
        """Whether a line of this kind is to be logged now: one in ten seconds. There are to be few kinds."""
        now = trio.current_time()
        due = now >= self._told.get(kind, now)
        if due:
            self._told[kind] = now + _TOLD_AGAIN_SECONDS
        return due
