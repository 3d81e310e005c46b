"""What programs print: the fields of java/sources/common/Out.java that the client has."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.clients.python.shared import body_fields, event
from rocketwire.remoting import ReceivedMessage, SendResult, SendStatus
from rocketwire.remoting.errors import Refused
from rocketwire.wire.hosts import decode_host
from rocketwire.wire.message_id import parse_offset_message_id

_STATUSES: Final = {
    SendStatus.OK: "SEND_OK",
    SendStatus.FLUSH_DISK_TIMEOUT: "FLUSH_DISK_TIMEOUT",
    SendStatus.FLUSH_SLAVE_TIMEOUT: "FLUSH_SLAVE_TIMEOUT",
    SendStatus.SLAVE_NOT_AVAILABLE: "SLAVE_NOT_AVAILABLE",
}


def sent(result: SendResult) -> None:
    """Print where a message is stored."""
    event(
        "sent",
        status=_STATUSES[result.status],
        msgId=",".join(result.message_ids),
        offsetMsgId=result.offset_message_id,
        topic=result.queue.topic,
        broker=result.queue.broker,
        queueId=result.queue.queue_id,
        queueOffset=result.queue_offset,
        handle=result.recall_handle,
    )


def received(by: str, message: ReceivedMessage) -> None:
    """Print a message."""
    stored_at, _ = parse_offset_message_id(message.offset_message_id)
    host, port = decode_host(stored_at)
    event(
        "received",
        topic=message.topic,
        queueId=message.queue.queue_id,
        queueOffset=message.queue_offset,
        msgId=message.message_id,
        tags=message.tags,
        keys=" ".join(message.keys) if message.keys else None,
        properties=dict(message.properties),
        bornTimestamp=message.born_timestamp,
        storeTimestamp=message.store_timestamp,
        storeHost=f"/{host}:{port}",
        physicalOffset=message.physical_offset,
        reconsumeTimes=message.reconsume_times,
        **body_fields(bytes(message.body)),
        by=by,
    )


def failure(name: str, problem: Exception) -> None:
    """Print an error."""
    code = {"code": int(problem.code), "message": problem.remark} if isinstance(problem, Refused) else {}
    event(name, error=type(problem).__name__, text=str(problem), **code)
