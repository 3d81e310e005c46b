"""What several clients make alike: sends, pulls that name the wanted messages, and the reading of routes."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.errors import NameServersInvalid
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies.route import TopicRouteData
from rocketwire.wire.facts.codes import Permission, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.names import AUTO_CREATE_TOPIC

AUTO_CREATED_QUEUES: Final = 4
"""Number of queues of a topic that the broker creates with its first message, as all clients request it."""


def name_server_addresses(text: str) -> list[Address]:
    """The addresses of name servers: `HOST:PORT`, several with `;` between.

    Raises:
        NameServersInvalid: there is none, or one is invalid.
    """
    found: list[Address] = []
    for each in text.split(";"):
        try:
            if each.strip():
                found.append(parse_address(each))
        except AddressInvalid as error:
            raise NameServersInvalid(each, str(error)) from error
    if not found:
        raise NameServersInvalid(text, "expected HOST:PORT, several of them with ; between")
    return found


def readable_queues(route: TopicRouteData) -> list[tuple[str, int]]:
    """Broker name and number of every queue of a topic that can be read, sorted."""
    return sorted(
        (each.broker_name, number)
        for each in route.queue_datas
        if each.perm & Permission.READ
        for number in range(each.read_queue_nums)
    )


def writable_queues(route: TopicRouteData, *, is_model: bool) -> list[tuple[str, int]]:
    """Broker name and number of every queue of a topic that takes messages, sorted.

    Args:
        route: The topic's route.
        is_model: Whether it is the route of the topic that a new one is created after.
    """
    return sorted(
        (each.broker_name, number)
        for each in route.queue_datas
        if each.perm & Permission.WRITE
        for number in range(min(AUTO_CREATED_QUEUES, each.write_queue_nums) if is_model else each.write_queue_nums)
    )


PULLED: Final = (
    ResponseCode.SUCCESS,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)
"""The codes of answers with the offset of the next pull; the first one brings messages."""


def pull_header(
    topic: str,
    queue_id: int,
    offset: int,
    *,
    most: int,
    group: str,
    held_ms: int = 0,
    expression: str = "*",
    kind: str = "TAG",
) -> PullMessageRequestHeader:
    """The header that requests messages of a queue, with the subscription.

    Args:
        topic: The topic.
        queue_id: The number of the queue.
        offset: From this offset on.
        most: So many messages.
        group: Pulls in the name of this group.
        held_ms: How long the broker waits for a message; 0: it answers at once.
        expression: Tags with `||` between, or an SQL92 expression.
        kind: TAG or SQL92.
    """
    return PullMessageRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=most,
        sys_flag=PullSysFlag.SUBSCRIPTION | (PullSysFlag.SUSPEND if held_ms else 0),
        commit_offset=0,
        suspend_timeout_millis=held_ms,
        sub_version=0,
        subscription=expression,
        expression_type=kind,
    )


STORED: Final = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
)
"""Codes that mean that the broker has the message, as for all clients: maybe not yet on its disk, or on a slave."""


def send_request(
    topic: str,
    queue_id: int,
    body: bytes,
    *,
    group: str,
    born_timestamp: int,
    properties: str | None,
    flag: int = 0,
    sys_flag: int = 0,
    reconsume_times: int = 0,
) -> ClientRequest:
    """The request that stores a message, or a batch.

    Args:
        topic: The topic; the broker creates it if it may.
        queue_id: The queue.
        body: The body as it is stored, or a batch as `wire.batch` writes it.
        group: The producer group.
        born_timestamp: Now, in ms since 1970.
        properties: The encoded properties of the message; None for a batch.
        flag: The message's flag.
        sys_flag: How the body is compressed.
        reconsume_times: How often the message was consumed before, of messages for retry topics.
    """
    fields = SendMessageRequestHeader(
        producer_group=group,
        topic=topic,
        default_topic=AUTO_CREATE_TOPIC,
        default_topic_queue_nums=AUTO_CREATED_QUEUES,
        queue_id=queue_id,
        sys_flag=sys_flag,
        born_timestamp=born_timestamp,
        flag=flag,
        properties=properties or "",
        reconsume_times=reconsume_times,
        unit_mode=False,
        batch=properties is None,
    )
    code = RequestCode.SEND_BATCH_MESSAGE if properties is None else RequestCode.SEND_MESSAGE_V2
    return ClientRequest(code, fields, body)
