"""Send requests, as the producer and Spark's writer make them."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.routes import AUTO_CREATED_QUEUES
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.names import AUTO_CREATE_TOPIC

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
        reconsume_times=0,
        unit_mode=False,
        batch=properties is None,
    )
    code = RequestCode.SEND_BATCH_MESSAGE if properties is None else RequestCode.SEND_MESSAGE_V2
    return ClientRequest(code, fields, body)
