"""Offset reset: moves a group to a time while its consumers are connected.

The broker only computes the new offset of each queue and sends them to all members; a member stops consuming the topic,
drops its cached messages, commits the new offsets some 10 s later and continues from there. So the table of offsets is
not changed here: commits of members would overwrite it meanwhile. A group without connected members is reset by the
administrator's tool, which commits for it; broadcasting groups have no offsets on the broker and cannot be reset.

A 5.x tool may name one queue, and give an offset instead of the time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.members import Member
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import Live
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
from rocketwire.server.core.works import Steps, check_answer, in_parts, written
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.protocol import Messages
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.online import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from rocketwire.wire.codes import RequestCode, version_name
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineServices:
    """The services of requests to and about connected clients."""

    broker_keys: Live[BrokerKeys]
    clients: ClientGroups
    clock: Clock
    offsets: OffsetTable
    store: Messages
    topics: BrokerTopics


def reset(services: OnlineServices, asked: ResetOffsetRequestHeader, *, for_cpp: bool) -> Steps[bytes]:
    """Send the group's members their new offsets in a topic; return the encoded `ResetOffsetBody`.

    `for_cpp`: the caller says that the members are C++ clients.

    Raises:
        ResetTopicMissing: the broker does not have the topic.
        QueueIllegal: the topic has no such queue.
        OffsetOutOfRange: the queue has no such offset.
        GroupWithoutOffsets: the group has committed no offset of some queue.
        ResetGroupOffline: no member of the group is connected.
        ClientOutdated: a member is too old for this; nothing is sent.
    """
    group, topic, timestamp = asked.group, asked.topic, asked.timestamp
    broker_name = services.broker_keys.current.broker_name
    found: dict[MessageQueue, int] = {}
    queues = _queues(services, asked)
    least = len(queues) * (_LEAST_ROW + len(topic) + len(broker_name))
    check_answer(least)
    for part in in_parts(queues):
        for queue_id in part:
            queue = MessageQueue(topic=topic, broker_name=broker_name, queue_id=queue_id)
            found[queue] = _offset(services, asked, queue_id)
        yield None
    consumers = services.clients.consumer(group)
    if consumers is None:
        raise ResetGroupOffline(group, topic, timestamp)
    for member in consumers.members.values():
        if member.version < _OLDEST_VERSION:
            raise ClientOutdated(version_name(member.version))
    ext = encode_ext(ResetOffsetRequestHeader(topic=topic, group=group, timestamp=timestamp, is_force=False))
    as_table = yield from written(ResetOffsetBody(offset_table=found), len(found), least)
    as_list = b""
    offsets = _shown(found)
    for peer, member in list(consumers.members.items()):
        log.info(
            "group %(group)s, topic %(topic)s: %(client_id)s is told to continue at offsets %(offsets)s",
            {"group": group, "topic": topic, "client_id": member.client_id, "offsets": offsets},
        )
        if _reads_tables(member, for_cpp=for_cpp):
            peer.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, as_table)
        else:
            as_list = as_list or (yield from written(_list(found), len(found), least))
            peer.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, as_list)
        yield None
    return as_table


def _shown(found: Mapping[MessageQueue, int]) -> str:
    """The new offsets for the log: those of the first queues, and how many others there are."""
    texts = [f"{offset} (queue {queue.queue_id})" for queue, offset in islice(found.items(), _MOST_SHOWN)]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _queues(services: OnlineServices, asked: ResetOffsetRequestHeader) -> Sequence[int]:
    config = services.topics.get(asked.topic)
    if config is None:
        raise ResetTopicMissing(asked.topic)
    every = range(config.write_queue_nums)
    if asked.queue_id is None or asked.queue_id < 0:
        return every
    if asked.queue_id not in every:
        raise QueueIllegal(f"queueId[{asked.queue_id}] is illegal, topic:[{asked.topic}] writeQueueNums:[{len(every)}]")
    return (asked.queue_id,)


def _offset(services: OnlineServices, asked: ResetOffsetRequestHeader, queue_id: int) -> int:
    """The new offset of a queue; without force it does not move forward, unless an offset is given."""
    topic, store = asked.topic, services.store
    committed = services.offsets.query(asked.group, topic, queue_id)
    if committed is None:
        raise GroupWithoutOffsets(asked.group)
    low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    if asked.queue_id == queue_id and asked.offset is not None and asked.offset != _NO_OFFSET:
        if not low <= asked.offset <= high:
            raise OffsetOutOfRange(asked.offset, low, high)
        return asked.offset
    wanted = high if asked.timestamp == END else max(0, store.offset_by_time(topic, queue_id, asked.timestamp))
    return wanted if asked.is_force else min(wanted, committed)


def _reads_tables(member: Member, *, for_cpp: bool) -> bool:
    """Whether the member reads Java's JSON, with queues as keys: C++ clients do not, Java clients read only that."""
    return member.language != CPP and (not for_cpp or member.language == _JAVA)


def _list(offsets: dict[MessageQueue, int]) -> ResetOffsetBodyForC:
    rows = (
        MessageQueueForC(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, offset=offset)
        for queue, offset in offsets.items()
    )
    return ResetOffsetBodyForC(offset_table=tuple(rows))
