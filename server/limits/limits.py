"""The limits in force; counts and logs what they refuse."""

from __future__ import annotations

import logging
from typing import Final

import trio

from rocketwire.server.config.keys import camel
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.limits.keys import LimitKeys

log = logging.getLogger(__name__)

CONNECTION_BYTES_KEY: Final = "maxInFlightBytesPerConnection"
UNREAD_ANSWERS_KEY: Final = "unreadAnswers"
"""Of answers that wait for a 5.x client: no more messages are delivered to it."""
LIMIT_NAMES: Final = (
    *map(camel, LimitKeys.__annotations__),
    *("waitForFlush", "tlsHandshakes", "orderLocks", "lockBytes", "filters", "brokers", "routes", "keyValues"),
    "upstreamBrokers",
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
    *("topicName", "batchMessages", "batchProperties", "assignmentBytes", "messageRequestModes"),
    *("callBytes", "callEntries", UNREAD_ANSWERS_KEY, "offsetResets", "clientsPerConnection", "clientIdLength"),
)
"""The labels under which refusals are counted: keys, and names of fixed limits."""
_LOG_AGAIN_SECONDS: Final = 10.0


class Limits:
    """Limits on what clients may use; `docs/limits.md` lists them.

    Attributes:
        longest_frame: The longest accepted frame in bytes, and the key that set it at the start.
        keys: The values in force: they may change while the server runs.
        metrics: Counts refusals by the name of the limit's key.
    """

    def __init__(self, keys: LiveGroup[LimitKeys], metrics: Metrics) -> None:
        self.keys = keys
        self.metrics = metrics
        self._log_again_at: dict[str, float] = {}
        self.longest_frame: Final = min(
            (keys.current.max_frame_bytes, "maxFrameBytes"),
            (keys.current.max_in_flight_bytes_per_connection, CONNECTION_BYTES_KEY),
        )

    def count_refusal(self, key: str, who: str) -> None:
        """Count a refusal, and log it: at most one line per limit in ten seconds."""
        self.metrics.limited[key] += 1
        if self.may_log(key):
            log.warning(
                "limit %(limit)s: %(who)s refused, %(refused)d so far",
                {"limit": key, "who": who, "refused": self.metrics.limited[key]},
            )

    def may_log(self, kind: str) -> bool:
        """Whether to log a line of this kind now: at most one in ten seconds. The number of kinds must be small."""
        now = trio.current_time()
        due = now >= self._log_again_at.get(kind, now)
        if due:
            self._log_again_at[kind] = now + _LOG_AGAIN_SECONDS
        return due
