"""Throttling: decides whether a send or a receive is within its quotas.

A request over a quota is refused at once (code 215) and never waits. A request that passes is charged to all its
buckets; a refusal costs nothing. The caller gets the quotas of a topic and a group once per request, checks them, and
charges them with what is stored or delivered, so that the next send of the same read sees what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.metrics import RECEIVE, SEND, Metrics
from rocketwire.server.throttle.bucket import Bucket, PythonBucket
from rocketwire.server.throttle.converted import MessageWeights
from rocketwire.server.throttle.keys import FLOW_CONTROL_WORDING, ThrottleKeys
from rocketwire.server.throttle.quotas import instance_quota, read_quotas
from rocketwire.server.topics.message_types import MESSAGE_TYPE, MessageType
from rocketwire.store.append.drafts import Draft
from rocketwire.store.event import Event
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig

INSTANCE: Final = "instance"
TOPIC: Final = "topic"
GROUP: Final = "group"
ACCOUNT: Final = "account"
BACKLOG: Final = "backlog"
COLD: Final = "cold"
"""The trigger of a refusal: the quota of the broker, a topic, a group or an account, a backlog, or disk reads."""

SEND_REMARK: Final = (
    "Rate of message sending reaches limit, please take a control or upgrade the resource specification."
)
RECEIVE_REMARK: Final = (
    "Rate of message receiving reaches limit, please take a control or upgrade the resource specification."
)
FLOW_CONTROL_REMARK: Final = "messages flow control"

_UNCOUNTED: Final = names.SEND_FORBIDDEN_TOPICS | {names.TRACE_TOPIC}
"""The broker's internal topics and the trace topic; compared by full name, since clients choose names. The region's
trace topic is not counted, either."""
_NANO: Final = 1_000_000_000
_MOST_QUOTA_SETS: Final = 16_384
_MOST_BUCKETS: Final = 16_384  # clients may send with ever new groups
_MOST_INDEBTED: Final = 32_768
_TOO_LONG: Final = "(too long)"
"""Stands for all names longer than a topic or group name may be: they share the quota of `*`."""
_MAX_ACCOUNT_LENGTH: Final = 255


class QuotaSet:
    """The buckets of one topic, group and account in one direction.

    Attributes:
        buckets: One to four buckets, none of which may be empty.
        kinds: The trigger that each bucket stands for.
        topic: The topic; it may be created or changed later.
    """

    __slots__ = ("buckets", "kinds", "topic")

    def __init__(self, buckets: Iterable[PythonBucket], kinds: Iterable[str], topic: str = "") -> None:
        self.buckets = tuple(buckets)
        self.kinds = tuple(kinds)
        self.topic = topic

    def refused_by(self, now_ns: int) -> str | None:
        """The trigger that refuses a request now; None: it passes."""
        for bucket, kind in zip(self.buckets, self.kinds, strict=True):
            if not bucket.ready(now_ns):
                return kind
        return None

    def charge(self, cost: int) -> None:
        """Charge a request that passed."""
        for bucket in self.buckets:
            bucket.take(cost)


class TopicLookup(Protocol):
    """What is known of topics."""

    def get(self, topic: str) -> TopicConfig | None:
        """A topic's configuration; None: it is not known."""


class Throttle:
    """The quotas of one broker.

    Args:
        keys: The configuration.
        topics: What is known of topics.
        metrics: Counts refusals.
        region: The broker's: the topic of its traces is not counted.
        now: The clock in s.

    Attributes:
        sends: Whether anything could refuse a send.
        receives: The same for receives, apart from reads from the disk.
        by_group: Whether the quotas of sends depend on the producer group.
        colds: Whether reads from the disk are limited.
        instance: The quota of all sends and that of all receives.
        conversion: The weights of messages.
        send_remark: The remark beside code 215 for a send.
        receive_remark: The same for a receive.
        forgets: Called when quota sets in use become invalid; it must have `changed` called.
    """

    def __init__(
        self,
        keys: LiveGroup[ThrottleKeys],
        topics: TopicLookup,
        metrics: Metrics,
        *,
        region: str = "DefaultRegion",
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        self._keys = keys
        self._uncounted = _UNCOUNTED | {f"{names.REGION_TRACE_PREFIX}{region}"}
        self._topics = topics
        self._metrics = metrics
        self._now = now
        self._quota_sets: dict[tuple[str, str, str, str], QuotaSet | None] = {}
        self._buckets: dict[tuple[str, str, str], PythonBucket] = {}
        self._rates: object = None
        self._backlogged: frozenset[str] = frozenset()
        self._most_buckets = _MOST_BUCKETS
        self.invalidated = Event[[]]()
        self.changed()

    def changed(self) -> None:
        """Invalidate what depends on the configuration and the topics; the buckets keep their levels."""
        keys = self._keys.current
        self._quota_sets.clear()
        self.instance = instance_quota(keys.instance_tps, keys.send_receive_ratio)
        written = {TOPIC: keys.topic_quotas, GROUP: keys.group_quotas, ACCOUNT: keys.account_quotas}
        self._named = {kind: read_quotas(text) for kind, text in written.items()}
        cold = keys.cg_cold_read_threshold, keys.global_cold_read_threshold
        rates = self.instance, *self._named.values(), cold
        if rates != self._rates:
            self._rates = rates
            self._buckets = {key: bucket for key, bucket in self._buckets.items() if self._rate(*key) == bucket.rate}
        self.conversion = MessageWeights.of(keys)
        self.by_group = self._named[GROUP].any_of(SEND)
        self.sends = bool(self._backlogged) or self._any_of(SEND)
        self.receives = self._any_of(RECEIVE)
        self.colds = keys.cold_data_flow_control_enable
        flow_control = keys.throttle_wording == FLOW_CONTROL_WORDING
        self.send_remark = FLOW_CONTROL_REMARK if flow_control else SEND_REMARK
        self.receive_remark = FLOW_CONTROL_REMARK if flow_control else RECEIVE_REMARK

    def _rate(self, direction: str, kind: str, name: str) -> int | None:
        """The current rate of a name; None: no limit."""
        if kind == COLD:
            keys = self._keys.current
            return keys.cg_cold_read_threshold if name else keys.global_cold_read_threshold
        quota = self.instance if kind == INSTANCE else self._named[kind].of(name)
        return quota.of(direction)

    def _any_of(self, direction: str) -> bool:
        return self.instance.of(direction) is not None or any(
            quotas.any_of(direction) for quotas in self._named.values()
        )

    def backlogged(self, topics: Iterable[str]) -> None:
        """Refuse sends to these topics, and to no others, because of backlogs."""
        now = frozenset(topics)
        if now != self._backlogged:
            self._backlogged = now
            self.invalidated()

    def send(self, topic: str, group: str, account: str = "") -> QuotaSet | None:
        """The quotas of an account's and a producer group's sends to a topic; None: nothing limits them."""
        return self._quota_set(SEND, topic, group if self.by_group else "", account)

    def receive(self, topic: str, group: str, account: str = "") -> QuotaSet | None:
        """The quotas of an account's and a consumer group's receives of a topic; None: nothing limits them."""
        return self._quota_set(RECEIVE, topic, group, account)

    def cold(self, group: str) -> QuotaSet:
        """The quotas of a group's reads from the disk, which is charged in bytes."""
        self._make_room()
        buckets = [self._bucket(RECEIVE, COLD, name) for name in (_key_of(group, names.MAX_GROUP_LENGTH), "")]
        return QuotaSet([bucket for bucket in buckets if bucket is not None], (COLD, COLD))

    def written(self) -> Iterator[tuple[str, str, str, int, int]]:
        """The quotas that the configuration names: direction, kind, name, rate and what was charged, even if 0."""
        names = [(INSTANCE, ""), *((kind, name) for kind, quotas in self._named.items() for name in quotas)]
        for key in ((direction, *of) for direction in (SEND, RECEIVE) for of in names):
            rate = self._rate(*key)
            if rate is not None:
                bucket = self._buckets.get(key)
                yield *key, rate, 0 if bucket is None else bucket.taken

    def unwritten(self) -> Iterator[tuple[str, str, str, int, int]]:
        """The same for topics, groups and accounts that use `*`, as far as they sent or received."""
        for (direction, kind, name), bucket in self._buckets.items():
            if kind in self._named and name not in self._named[kind]:
                yield direction, kind, name, bucket.rate, bucket.taken

    def is_open(self, quota_set: QuotaSet) -> bool:
        """Whether a request would pass now, without counting a refusal."""
        return quota_set.refused_by(self._now_ns()) is None

    def passes(self, direction: str, quota_set: QuotaSet) -> bool:
        """Whether a request passes now; a refusal is counted."""
        kind = quota_set.refused_by(self._now_ns())
        if kind is None:
            return True
        self._metrics.throttled[direction, kind] += 1
        return False

    def sent(self, quota_set: QuotaSet, drafts: Iterable[Draft]) -> None:
        """Charge what a send will store."""
        self._charge(SEND, quota_set, self.conversion.sent(drafts, ordered=self.is_ordered(quota_set.topic)))

    def received(self, quota_set: QuotaSet, chunks: Sequence[memoryview]) -> None:
        """Charge the records of a receive."""
        self._charge(RECEIVE, quota_set, self.conversion.received(chunks, ordered=self.is_ordered(quota_set.topic)))

    def _charge(self, direction: str, quota_set: QuotaSet, cost: int) -> None:
        quota_set.charge(cost)
        self._metrics.converted[direction] += cost

    def _now_ns(self) -> int:
        return int(self._now() * _NANO)

    def _quota_set(self, direction: str, topic: str, group: str, account: str) -> QuotaSet | None:
        try:
            return self._quota_sets[direction, topic, group, account]
        except KeyError:
            topic, group = _key_of(topic, names.MAX_RETRY_TOPIC_LENGTH), _key_of(group, names.MAX_GROUP_LENGTH)
            account = _key_of(account, _MAX_ACCOUNT_LENGTH)
            key = direction, topic, group, account
            if key in self._quota_sets:
                return self._quota_sets[key]
            if len(self._quota_sets) >= _MOST_QUOTA_SETS:
                self._quota_sets.clear()
            self._make_room()
            quota_set = self._quota_sets[key] = self._make_quota_set(direction, topic, group, account)
            return quota_set

    def _make_quota_set(self, direction: str, topic: str, group: str, account: str) -> QuotaSet | None:
        if topic in self._uncounted:
            return None
        if direction == SEND and topic in self._backlogged:
            return QuotaSet((Bucket(0, 0),), (BACKLOG,))
        named = ((kind, name) for kind, name in ((GROUP, group), (ACCOUNT, account)) if name)
        whose = ((INSTANCE, ""), (TOPIC, topic), *named)
        found = {kind: bucket for kind, name in whose if (bucket := self._bucket(direction, kind, name)) is not None}
        return QuotaSet(found.values(), found, topic) if found else None

    def is_ordered(self, topic: str) -> bool:
        """Whether the messages of a topic count as ordered."""
        config = self._topics.get(topic)
        return config is not None and (config.order or (config.attributes or {}).get(MESSAGE_TYPE) == MessageType.FIFO)

    def _bucket(self, direction: str, kind: str, name: str) -> PythonBucket | None:
        """The bucket of a name; None: it has no quota."""
        key = direction, kind, name
        bucket = self._buckets.get(key)
        if bucket is None:
            rate = self._rate(*key)
            if rate is not None:
                bucket = self._buckets[key] = Bucket(rate, self._now_ns())
        return bucket

    def _make_room(self) -> None:
        """When there are many buckets, drop the full ones; if that is not enough, those whose names clients choose."""
        if len(self._buckets) < self._most_buckets:
            return
        now = self._now_ns()
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if not _is_full(bucket, now)}
        if len(self._buckets) >= _MOST_INDEBTED:
            self._buckets = {key: bucket for key, bucket in self._buckets.items() if self._is_written(*key)}
        self._most_buckets = max(_MOST_BUCKETS, 2 * len(self._buckets))
        self.invalidated()

    def _is_written(self, _direction: str, kind: str, name: str) -> bool:
        """Whether clients cannot make buckets like this one by inventing groups."""
        return kind in {INSTANCE, TOPIC} or (name in self._named[kind] if kind in self._named else not name)


def _is_full(bucket: PythonBucket, now_ns: int) -> bool:
    bucket.ready(now_ns)
    return bucket.level >= bucket.rate * _NANO


def _key_of(name: str, most: int) -> str:
    """The key for a name from a client, which may be as long as a frame."""
    return name if len(name.encode(errors="replace")) <= most else _TOO_LONG
