"""Offset reset: moves a group to a time while its consumers are connected.

Members that pull hold the offsets themselves. The broker sends the new offset of each queue to them; a member stops
consuming the topic, drops its cached messages, commits the new offsets some 10 s later and continues from there. So the
table of offsets is not changed for them: their commits would overwrite it meanwhile. Members that pop, as all clients
of 5.x do, hold no offsets: for a group with such members the broker moves the offsets, and cancels the deliveries that
are not finished (`QueueResets`). Members that pull get the request nevertheless. Broadcasting groups have no offsets on
the broker and cannot be reset.

A 5.x tool may name one queue, and give an offset instead of the time. It expects the broker to reset a group without
connected members, too; one of 4.x gets the error that there are none, and commits for the group.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.members import ConsumerGroup, GroupMember
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.client_errors import (
    ClientOutdated,
    GroupWithoutOffsets,
    OffsetOutOfRange,
    ResetGroupOffline,
    ResetTopicMissing,
)
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.errors import (
    QueueIllegal,
)
from rocketwire.server.core.long_tasks import check_answer, encode_answer, in_batches
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.online import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from rocketwire.wire.facts.codes import VERSION_5_0_0, RequestCode, version_name
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.online import ResetOffsetRequestHeader

log = logging.getLogger(__name__)

_MOST_SHOWN: Final = 8  # queues in a line of the log
END: Final = -1
"""The time that stands for the end of every queue."""
_NO_OFFSET: Final = -1  # what a 5.x tool sends if it gives a time
CPP: Final = "CPP"
_JAVA: Final = "JAVA"
_OLDEST_VERSION: Final = 28  # V3_0_7_SNAPSHOT
_LEAST_ROW: Final = len('{"brokerName":"","queueId":0,"topic":""}:0,')


class QueueResets(Protocol):
    """Sets groups to other offsets on the broker."""

    def has_popped(self, topic: str, group: str) -> bool:
        """Whether a group pops a topic: then the broker has its offsets."""
        ...

    def reset(self, group: str, topic: str, offsets: Mapping[int, int]) -> Operation[None]:
        """Set a group to the offsets of some queues, by queue id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineServices:
    """The services of requests to and about connected clients."""

    broker_keys: LiveGroup[BrokerKeys]
    clients: ClientGroups
    clock: Clock
    offsets: OffsetTable
    resets: QueueResets
    store: StoreProtocol
    topics: BrokerTopics


def reset(services: OnlineServices, fields: ResetOffsetRequestHeader, *, for_cpp: bool) -> Operation[bytes]:
    """Set a group to other offsets in a topic, and notify its members; return the encoded `ResetOffsetBody`.

    `for_cpp`: by the request the members are C++ clients.

    Raises:
        ResetTopicMissing: the broker does not have the topic.
        QueueIllegal: the topic has no such queue.
        OffsetOutOfRange: the queue has no such offset.
        GroupWithoutOffsets: the group has committed no offset of some queue.
        ResetGroupOffline: no member of the group is connected, and the tool is one of 4.x.
        LimitExceeded, StoreNotWritable: the broker cannot note the reset.
        ClientOutdated: a member is too old for this; nothing is sent.
    """
    group, topic, timestamp = fields.group, fields.topic, fields.timestamp
    broker_name = services.broker_keys.current.broker_name
    found: dict[MessageQueue, int] = {}
    queues = _queues(services, fields)
    consumers = services.clients.consumer(group)
    by_broker = _by_broker(services, fields, consumers)
    least = len(queues) * (_LEAST_ROW + len(topic) + len(broker_name))
    check_answer(least)
    for part in in_batches(queues):
        for queue_id in part:
            queue = MessageQueue(topic=topic, broker_name=broker_name, queue_id=queue_id)
            found[queue] = _offset(services, fields, queue_id, by_broker=by_broker)
        yield None
    members = [] if consumers is None else list(consumers.members.items())
    if not members and not by_broker:
        raise ResetGroupOffline(group, topic, timestamp)
    for _, member in members:
        if member.version < _OLDEST_VERSION:
            raise ClientOutdated(version_name(member.version))
    if by_broker:
        yield from services.resets.reset(group, topic, {queue.queue_id: offset for queue, offset in found.items()})
    ext = encode_ext(ResetOffsetRequestHeader(topic=topic, group=group, timestamp=timestamp, is_force=False))
    as_table = yield from encode_answer(ResetOffsetBody(offset_table=found), len(found), least)
    as_list = b""
    offsets = _shown(found)
    for peer, member in members:
        log.info(
            "group %(group)s, topic %(topic)s: %(client_id)s is told to continue at offsets %(offsets)s",
            {"group": group, "topic": topic, "client_id": member.client_id, "offsets": offsets},
        )
        if _reads_tables(member, for_cpp=for_cpp):
            peer.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, as_table)
        else:
            as_list = as_list or (yield from encode_answer(_list(found), len(found), least))
            peer.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, as_list)
        yield None
    return as_table


def _shown(found: Mapping[MessageQueue, int]) -> str:
    """The new offsets for the log: those of the first queues, and how many others there are."""
    texts = [f"{offset} (queue {queue.queue_id})" for queue, offset in islice(found.items(), _MOST_SHOWN)]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _by_broker(services: OnlineServices, fields: ResetOffsetRequestHeader, consumers: ConsumerGroup | None) -> bool:
    """Whether the broker has to move the offsets: a member pops, or a 5.x tool resets a group without members.

    Clients of 5.x pop, but some of them have not since the start. Their heartbeats have the version 5.0.0.
    """
    if services.resets.has_popped(fields.topic, fields.group):
        return True
    if consumers is None:
        return fields.queue_id is not None
    return any(member.version == VERSION_5_0_0 for member in consumers.members.values())


def _queues(services: OnlineServices, fields: ResetOffsetRequestHeader) -> Sequence[int]:
    config = services.topics.get(fields.topic)
    if config is None:
        raise ResetTopicMissing(fields.topic)
    every = range(config.write_queue_nums)
    if fields.queue_id is None or fields.queue_id < 0:
        return every
    if fields.queue_id not in every:
        raise QueueIllegal(
            f"queueId[{fields.queue_id}] is illegal, topic:[{fields.topic}] writeQueueNums:[{len(every)}]"
        )
    return (fields.queue_id,)


def _offset(services: OnlineServices, fields: ResetOffsetRequestHeader, queue_id: int, *, by_broker: bool) -> int:
    """The new offset of a queue; without force it does not move forward, unless an offset is given.

    `by_broker`: the broker has the group's offsets, which may have none yet of some queue.
    """
    topic, store = fields.topic, services.store
    committed = services.offsets.query(fields.group, topic, queue_id)
    if committed is None and not by_broker:
        raise GroupWithoutOffsets(fields.group)
    low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    if fields.queue_id == queue_id and fields.offset is not None and fields.offset != _NO_OFFSET:
        if not low <= fields.offset <= high:
            raise OffsetOutOfRange(fields.offset, low, high)
        return fields.offset
    wanted = high if fields.timestamp == END else max(0, store.offset_by_time(topic, queue_id, fields.timestamp))
    return wanted if fields.is_force or committed is None else min(wanted, committed)


def _reads_tables(member: GroupMember, *, for_cpp: bool) -> bool:
    """Whether the member reads Java's JSON, with queues as keys: C++ clients do not, Java clients read only that."""
    return member.language != CPP and (not for_cpp or member.language == _JAVA)


def _list(offsets: dict[MessageQueue, int]) -> ResetOffsetBodyForC:
    rows = (
        MessageQueueForC(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, offset=offset)
        for queue, offset in offsets.items()
    )
    return ResetOffsetBodyForC(offset_table=tuple(rows))
