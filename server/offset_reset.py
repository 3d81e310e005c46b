"""Setting a group back or forward to a time while its consumers are on line.

The broker only computes where each queue goes on and tells every member; a member stops consuming the topic, throws
away what it has of it, commits the new offsets some 10 s later and goes on from there. So the table of offsets is not
touched here: what a member commits meanwhile would overwrite it. A group that nobody is on line of is reset by the
administrator's tool, which commits for it; broadcasting groups have no offsets with the broker and cannot be reset.
"""

from __future__ import annotations

import logging
from typing import Final

from rocketwire.server.errors import ClientOutdated, GroupWithoutOffsets, ResetGroupOffline, ResetTopicMissing
from rocketwire.server.groups import Member
from rocketwire.server.services import BrokerServices
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.online import MessageQueueForC, ResetOffsetBody, ResetOffsetBodyForC
from rocketwire.wire.codes import RequestCode, version_name
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.online import ResetOffsetRequestHeader

log = logging.getLogger(__name__)

END: Final = -1
"""The time that stands for the end of every queue."""
CPP: Final = "CPP"
_JAVA: Final = "JAVA"
_OLDEST_VERSION: Final = 28  # V3_0_7_SNAPSHOT


def reset(
    services: BrokerServices, group: str, topic: str, timestamp: int, *, force: bool, for_cpp: bool
) -> dict[MessageQueue, int]:
    """Tell the group's members to go on where `topic` was at a time in ms, `END` for its end; return the offsets.

    Without `force` no queue goes forward. `for_cpp`: whoever asks says that the members are C++ clients.

    Raises:
        ResetTopicMissing: there is no such topic here.
        GroupWithoutOffsets: the group has committed no offset of some queue.
        ResetGroupOffline: nobody of the group is on line.
        ClientOutdated: a member is too old for this; nobody is told.
    """
    found = _offsets(services, group, topic, timestamp, force=force)
    consumers = services.clients.consumer(group)
    if consumers is None:
        raise ResetGroupOffline(group, topic, timestamp)
    for member in consumers.members.values():
        if member.version < _OLDEST_VERSION:
            raise ClientOutdated(version_name(member.version))
    ext = encode_ext(ResetOffsetRequestHeader(topic=topic, group=group, timestamp=timestamp, is_force=False))
    for peer, member in list(consumers.members.items()):
        peer.push(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, _body(found, member, for_cpp=for_cpp))
        log.info("group %s, topic %s: %s told to go on at %d", group, topic, member.client_id, timestamp)
    return found


def _offsets(
    services: BrokerServices, group: str, topic: str, timestamp: int, *, force: bool
) -> dict[MessageQueue, int]:
    config = services.topics.get(topic)
    if config is None:
        raise ResetTopicMissing(topic)
    found: dict[MessageQueue, int] = {}
    broker_name = services.config.current.broker_name
    for queue_id in range(config.write_queue_nums):
        committed = services.offsets.query(group, topic, queue_id)
        if committed is None:
            raise GroupWithoutOffsets(group)
        if timestamp == END:
            wanted = services.store.max_offset(topic, queue_id)
        else:
            wanted = max(0, services.store.offset_by_time(topic, queue_id, timestamp))
        queue = MessageQueue(topic=topic, broker_name=broker_name, queue_id=queue_id)
        found[queue] = wanted if force else min(wanted, committed)
    return found


def _body(offsets: dict[MessageQueue, int], member: Member, *, for_cpp: bool) -> bytes:
    """The form that the member reads: Java's JSON has queues as keys, which C++ clients cannot read, and only that."""
    if member.language != CPP and (not for_cpp or member.language == _JAVA):
        return encode_body(ResetOffsetBody(offset_table=offsets))
    rows = (
        MessageQueueForC(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, offset=offset)
        for queue, offset in offsets.items()
    )
    return encode_body(ResetOffsetBodyForC(offset_table=tuple(rows)))
