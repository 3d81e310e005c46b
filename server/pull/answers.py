"""The answers to pulls, from what the store has of their queues.

What a pull requests of the store is a value (`PullSpec`). Equal requests have equal answers, so the store is read once
for all of them. Messages are counted per group, once for each pull (`delivered`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import RECEIVE, Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.filters import MessageFilter
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.read.fetch import FetchResult, FetchStatus
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.headers.pull import PullMessageResponseHeader


class _Answer(NamedTuple):
    code: ResponseCode
    remark: str


_ANSWERS: Final = {
    FetchStatus.FOUND: _Answer(ResponseCode.SUCCESS, "FOUND"),
    FetchStatus.MESSAGE_WAS_REMOVING: _Answer(ResponseCode.PULL_RETRY_IMMEDIATELY, "MESSAGE_WAS_REMOVING"),
    FetchStatus.NO_MATCHED_MESSAGE: _Answer(ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE"),
    FetchStatus.OFFSET_FOUND_NULL: _Answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_FOUND_NULL"),
    FetchStatus.OFFSET_OVERFLOW_ONE: _Answer(ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE"),
    FetchStatus.OFFSET_OVERFLOW_BADLY: _Answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY"),
    FetchStatus.OFFSET_TOO_SMALL: _Answer(ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL"),
    FetchStatus.NO_MATCHED_LOGIC_QUEUE: _Answer(ResponseCode.PULL_NOT_FOUND, "NO_MATCHED_LOGIC_QUEUE"),
    FetchStatus.NO_MESSAGE_IN_QUEUE: _Answer(ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"),
}
# In an empty or unknown queue a new consumer waits at 0; one with a later offset has lost its place.
_EMPTY: Final = frozenset({FetchStatus.NO_MATCHED_LOGIC_QUEUE, FetchStatus.NO_MESSAGE_IN_QUEUE})


class PullSpec(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """What a pull requests of the store. Equal ones have the same answer.

    Attributes:
        offset: The queue offset to begin at; that of a held pull advances past messages that did not pass its filter.
        from_start: Whether the consumer requested the offset 0.
        most: So many messages at most.
        most_bytes: So many bytes at most; None for the broker's own limit.
        wanted: The filter; those of the same subscription, or of the same short expression, are equal.
    """

    topic: str
    queue_id: int
    offset: int
    from_start: bool
    most: int
    most_bytes: int | None
    message_filter: MessageFilter


class PullAnswers:
    """Reads the store for pulls, and counts the messages that they get."""

    def __init__(
        self,
        store: StoreProtocol,
        *,
        transfer_keys: LiveGroup[TransferKeys],
        long_poll_keys: LiveGroup[LongPollKeys],
        metrics: Metrics,
        deliveries: Counters[GroupTopic],
        offset_moved: OffsetMovedEvents,
        throttle: Throttle,
    ) -> None:
        self._store = store
        self._transfer_keys = transfer_keys
        self._long_poll_keys = long_poll_keys
        self._metrics = metrics
        self._deliveries = deliveries
        self._offset_moved = offset_moved
        self._throttle = throttle

    def on_store_error(self, error: Exception) -> bool:
        """Record an error that means that a file is missing; false: it means something else."""
        return self._store.on_store_error(error)

    def fetch(self, spec: PullSpec) -> FetchResult:
        """Read what the store has for a pull now."""
        most, most_bytes = self.most(spec.most, spec.most_bytes)
        wanted = spec.message_filter
        return self._store.get(
            spec.topic,
            spec.queue_id,
            spec.offset,
            most,
            most_bytes,
            wanted.by_code,
            wanted.by_properties,
            wanted.most_text,
        )

    def refusal(self, group: str, topic: str, account: str = "") -> Reply | None:
        """The refusal of a group or an account that is over its quota of receives; None: it is not."""
        throttle = self._throttle
        quota_set = throttle.receive(topic, group, account) if throttle.receives else None
        return None if quota_set is None or throttle.passes(RECEIVE, quota_set) else self._refused()

    def cold_refusal(self, group: str, spec: PullSpec) -> Reply | None:
        """The refusal of a group that reads too much from the disk, for a pull of more; None: there is none.

        It is checked before the pull's filter, for which all messages would have to be read.
        """
        throttle = self._throttle
        if not throttle.colds:
            return None
        quota_set = throttle.cold(group)
        if throttle.is_open(quota_set):
            return None
        first = self._store.get(spec.topic, spec.queue_id, spec.offset, 1)
        if not (first.is_far_behind and first.count) or throttle.passes(RECEIVE, quota_set):
            return None
        return self._refused()

    def _refused(self) -> Reply:
        return Reply(code=ResponseCode.FLOW_CONTROL, remark=self._throttle.receive_remark, ext={})

    def most(self, messages: int, size: int | None) -> tuple[int, int]:
        """How many messages and bytes a pull gets at most, from its own limits and the broker's."""
        keys = self._transfer_keys.current
        most_bytes = keys.max_transfer_bytes_on_message_in_memory
        return (
            min(messages, keys.max_transfer_count_on_message_in_memory),
            most_bytes if size is None else min(size, most_bytes),
        )

    def held_seconds(self, requested_ms: int) -> float:
        """How long a pull is held that may be held for so many ms."""
        keys = self._long_poll_keys.current
        return (requested_ms if keys.long_polling_enable else keys.short_polling_time_mills) / 1000

    def reply(self, spec: PullSpec, fetched: FetchResult) -> Reply:
        """Encode the result as an answer; nothing is counted."""
        code, remark = _ANSWERS[fetched.status]
        if not spec.from_start and fetched.status in _EMPTY:
            code = ResponseCode.PULL_OFFSET_MOVED
        return Reply(
            code=code,
            remark=remark,
            fields=PullMessageResponseHeader(
                suggest_which_broker_id=0,
                next_begin_offset=fetched.next_offset,
                min_offset=fetched.min_offset,
                max_offset=fetched.max_offset,
            ),
            body=fetched.chunks,
        )

    def count_delivered(
        self, group: str, offset: int, spec: PullSpec, fetched: FetchResult, reply: Reply, account: str = ""
    ) -> None:
        """Count what a pull of a group gets; store an event if it was redirected from this requested offset."""
        throttle = self._throttle
        if throttle.colds and fetched.is_far_behind:
            throttle.cold(group).charge(fetched.scanned_bytes)
        if fetched.count:
            self._metrics.delivered(fetched.count, fetched.size)
            self._deliveries.add((group, spec.topic), fetched.count, fetched.size)
            quota_set = throttle.receive(spec.topic, group, account) if throttle.receives else None
            if quota_set is not None:
                throttle.received(quota_set, fetched.chunks)
        if reply.code == ResponseCode.PULL_OFFSET_MOVED:
            self._offset_moved.store_event(group, spec.topic, spec.queue_id, requested=offset, new=fetched.next_offset)
