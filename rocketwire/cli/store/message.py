"""A message for people and programs: its body as the producer had it, and all of it as a JSON object."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rocketwire.store.archive.scan import Report
    from rocketwire.store.archive.select import Selected

#: A body that inflates to more is not shown: brokers take 4 MiB unless they are told otherwise.
_MOST_INFLATED: Final = 256 << 20


def body_of(one: Selected, report: Report) -> bytes | None:
    """The body, inflated if it was compressed; None, and a report, where that is not possible."""
    from rocketwire.store.archive.scan import Trouble
    from rocketwire.wire.compression import decompress
    from rocketwire.wire.errors import WireError

    message = one.message
    try:
        return decompress(message.body, message.sys_flag, max_size=_MOST_INFLATED)
    except WireError as error:
        place = f"{message.topic}, queue {message.queue_id}, offset {message.queue_offset}"
        report(Trouble(place, message.physical_offset, str(error)))
        return None


def json_object(one: Selected, report: Report) -> dict[str, Any]:
    """The names are those of the Spark reader's schema.

    `body` is text, and null when the body is no UTF-8: then it is in `body_base64`. A body that cannot be inflated is
    there as it is stored.
    """
    message = one.message
    found: dict[str, Any] = {
        "topic": message.topic,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "message_id": one.message_id,
        "offset_message_id": one.offset_message_id,
        "born_timestamp": message.born_timestamp,
        "store_timestamp": message.store_timestamp,
        "born_host": _host(message.born_host),
        "store_host": _host(message.store_host),
        "tags": one.tags,
        "keys": one.keys,
        "body": None,
        "properties": one.properties,
        "sys_flag": message.sys_flag,
        "flag": message.flag,
        "reconsume_times": message.reconsume_times,
        "prepared_transaction_offset": message.prepared_transaction_offset,
        "body_crc": message.body_crc,
        "physical_offset": message.physical_offset,
        "store_size": one.size,
        "broker": None,
    }
    body = body_of(one, report)
    with contextlib.suppress(UnicodeDecodeError):
        found["body"] = None if body is None else body.decode()
    if found["body"] is None:
        found["body_base64"] = base64.b64encode(message.body if body is None else body).decode()
    return found


def _host(host: tuple[str, int]) -> str:
    address, port = host
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
