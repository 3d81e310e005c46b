"""Finding the traces of a message, and the message itself, by its id: brokers index both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.errors import AccessDenied, NoSuchTopic, Refused
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.wire.errors import MessageIdInvalid
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.query import QueryMessageRequestHeader, ViewMessageRequestHeader
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.java import INT64_MAX
from rocketwire.wire.message import decode_record
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.trace import Trace, decode_traces

_COMMA: Final = ","
_FOREVER: Final = INT64_MAX
_MOST: Final = 1024  # messages; the broker returns up to its maxMsgsNumBatch: 64 by default


class ReportedTrace(NamedTuple):
    """A trace, and the address it was sent from."""

    trace: Trace
    client: str


class TracedMessage(NamedTuple):
    """A message as a broker has it."""

    broker: str
    found: SelectedMessage


def traces_of(cluster: BlockingCluster, trace_topic: str, message_id: str) -> list[ReportedTrace]:
    """The traces of a message, or of the messages of a batch, whose ids are separated by commas.

    Raises:
        NoSuchTopic: the trace topic.
        TraceInvalid: a report cannot be read.
    """
    wanted = set(message_id.split(_COMMA))
    # A producer reports a batch under all its ids as one key, consumers report it message by message.
    found = {
        (stored.broker, stored.found.message.physical_offset): stored.found.message
        for key in (message_id, *sorted(wanted - {message_id}))
        for stored in _indexed(cluster, trace_topic, key, unique=False)
    }
    return [
        ReportedTrace(trace, message.born_host[0])
        for message in found.values()
        for trace in decode_traces(message.body)
        if not wanted.isdisjoint(trace.message_id.split(_COMMA))
    ]


def messages_of(cluster: BlockingCluster, topic: str, message_id: str) -> list[TracedMessage]:
    """The messages of a topic with a unique key, or with those of a batch; none when the topic does not exist."""
    with contextlib.suppress(NoSuchTopic):
        return [stored for key in message_id.split(_COMMA) for stored in _indexed(cluster, topic, key, unique=True)]
    return []


def messages_on(broker: BlockingConnection, topic: str, unique_key: str) -> Iterator[SelectedMessage]:
    """The messages of a topic with a unique key on one broker.

    Raises:
        NotReached, Refused: the broker does not answer, or refuses.
    """
    return indexed(broker, topic, unique_key, unique=True)


def unique_key_of(cluster: BlockingCluster, message_id: str) -> str | None:
    """The id by which clients trace the message with this offset message id; None when there is no such message."""
    found = viewed(cluster, message_id)
    return None if found is None else found.found.message_id


def viewed(cluster: BlockingCluster, message_id: str) -> TracedMessage | None:
    """The message at the place that an offset message id names; None if the text is none, or there is no message."""
    try:
        host, offset = parse_offset_message_id(message_id)
        place = decode_host(host)
    except MessageIdInvalid:
        return None
    for name, broker in cluster.all_brokers().items():
        if broker.address == place:
            try:
                answer = broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=offset))
            except AccessDenied:
                raise
            except Refused:
                continue
            return TracedMessage(name, with_properties(decode_record(answer.body), len(answer.body)))
    return None


def _indexed(cluster: BlockingCluster, topic: str, key: str, *, unique: bool) -> Iterator[TracedMessage]:
    for name, broker in cluster.brokers_of(topic).items():
        for found in indexed(broker, topic, key, unique=unique):
            yield TracedMessage(name, found)


def indexed(
    broker: BlockingConnection,
    topic: str,
    key: str,
    *,
    unique: bool,
    most: int = _MOST,
    first: int = 0,
    last: int = _FOREVER,
) -> Iterator[SelectedMessage]:
    """The messages of a topic that the index of a broker has with a key, or a unique key, the newest up to `most`.

    They were stored from `first` to `last`, ms since 1970.
    """
    fields = QueryMessageRequestHeader(
        topic=topic,
        key=key,
        max_num=most,
        begin_timestamp=first,
        end_timestamp=last,
        unique_key_query=True if unique else None,
    )
    fine = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
    body = broker.ask(RequestCode.QUERY_MESSAGE, fields, fine=fine).body
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        found = with_properties(decode_record(body, at), size)
        # The index knows keys by their hash only.
        if key == found.message_id if unique else key in found.keys:
            yield found
        at += size
