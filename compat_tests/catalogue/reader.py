"""Reads a topic with rocketwire's own client, and prints it as the program PullAll does."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Final

from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Event
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.incoming import decode_message
from rocketwire.remoting.requests import PULLED, pull_header
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pull import PullMessageResponseHeader
from rocketwire.wire.message import MessageRecord, decode_record

_GROUP: Final = "compat_reader"
_AT_ONCE: Final = 32
_WITHIN: Final = 120.0  # seconds
_SHORT: Final = 4096  # bytes of a body that is shown


def read_topic(access: Access, topic: str, count: int, *, until: float) -> list[Event]:
    """All messages of a topic by queue and offset, once `count` of them are stored or two minutes are over.

    Args:
        access: The endpoint.
        topic: The topic.
        count: How many messages are waited for.
        until: When to stop waiting at the latest, in the time of `time.monotonic`.

    Raises:
        NoSuchTopic, NotReached, Refused: it cannot be read.
    """
    found: list[Event] = []
    end = min(time.monotonic() + _WITHIN, until)
    with access.cluster() as cluster:
        offsets = dict.fromkeys(cluster.readable_queues(topic), 0)
        brokers = cluster.brokers_of(topic)
        while True:
            for broker, queue in offsets:
                for record, size in _records(brokers[broker], topic, queue, offsets[broker, queue]):
                    offsets[broker, queue] = record.queue_offset + 1
                    found.append(_event(record, broker, size))
            if len(found) >= count or time.monotonic() > end:
                return found
            time.sleep(0.05)


def _records(
    connection: BlockingConnection, topic: str, queue: int, offset: int
) -> Iterator[tuple[MessageRecord, int]]:
    """The records of a queue from an offset on, each with its size in the log."""
    while True:
        header = pull_header(topic, queue, offset, most=_AT_ONCE, group=_GROUP)
        answer = connection.ask(RequestCode.PULL_MESSAGE, header, fine=PULLED)
        following = decode_ext(PullMessageResponseHeader, answer.ext).next_begin_offset
        data = bytes(answer.body) if answer.code == ResponseCode.SUCCESS else b""
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            yield decode_record(data, at), size
            at += size
        if following <= offset:
            return
        offset = following


def _event(record: MessageRecord, broker: str, size: int) -> Event:
    """What java/sources/common/Out.java prints of a message."""
    message = decode_message(record, broker)
    body = message.body
    return {
        "event": "received",
        "topic": message.topic,
        "queueId": record.queue_id,
        "queueOffset": record.queue_offset,
        "msgId": message.message_id,
        "tags": message.tags,
        "keys": message.properties.get(names.KEYS),
        "properties": dict(message.properties),
        "flag": record.flag,
        "sysFlag": record.sys_flag,
        "bornTimestamp": record.born_timestamp,
        "storeTimestamp": record.store_timestamp,
        "bornHost": f"/{record.born_host[0]}:{record.born_host[1]}",
        "storeHost": f"/{record.store_host[0]}:{record.store_host[1]}",
        "physicalOffset": record.physical_offset,
        "storeSize": size,
        "reconsumeTimes": record.reconsume_times,
        "length": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "text": body.decode("utf-8", "replace") if len(body) <= _SHORT else None,
        "by": "pull",
        "at": time.time_ns() // 1_000_000,
    }
