"""Records of a pull's answer as messages for the application."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from rocketwire.remoting.errors import RemotingError
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import CompressionUnavailable, WireError
from rocketwire.wire.facts import properties as names
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import decode_record
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.names import RETRY_PREFIX
from rocketwire.wire.properties import decode_stored_properties

log = logging.getLogger(__name__)

_LARGEST_BODY: Final = 128 << 20
"""Bytes of a body, inflated."""
_SIZE: Final = 4


def decode_messages(body: bytes, queue: Queue) -> Iterator[ReceivedMessage]:
    """The messages of an answer to a pull of a queue; damaged ones are skipped, and logged.

    Raises:
        RemotingError: the package that inflates a body is not installed.
    """
    at = 0
    while at < len(body):
        size = int.from_bytes(body[at : at + _SIZE], "big")
        try:
            yield decode_message(decode_record(body, at), queue.broker)
        except CompressionUnavailable as error:
            raise RemotingError(str(error)) from error
        except WireError as error:
            log.error("a message of %s cannot be read, and is left out: %s", queue, error)  # noqa: TRY400
            if size <= 0:
                return
        at += size


def decode_message(record: Record, broker: str) -> ReceivedMessage:
    """A record as a message.

    Raises:
        WireError: its body cannot be inflated.
    """
    properties = decode_stored_properties(record.properties)
    is_retry = record.topic.startswith(RETRY_PREFIX)
    offset_id = offset_message_id(encode_host(*record.store_host), record.physical_offset)
    return ReceivedMessage(
        topic=properties.get(names.RETRY_TOPIC, record.topic) if is_retry else record.topic,
        body=decompress(record.body, record.sys_flag, max_size=_LARGEST_BODY),
        tags=properties.get(names.TAGS),
        keys=tuple(properties.get(names.KEYS, "").split()),
        properties=properties,
        message_id=properties.get(names.UNIQ_KEY, offset_id),
        offset_message_id=offset_id,
        queue=Queue(record.topic, broker, record.queue_id),
        queue_offset=record.queue_offset,
        physical_offset=record.physical_offset,
        born_timestamp=record.born_timestamp,
        store_timestamp=record.store_timestamp,
        reconsume_times=record.reconsume_times,
    )
