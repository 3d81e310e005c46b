"""Showing a message: its inflated body, and all of it as a JSON object."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import WireError

if TYPE_CHECKING:
    from rocketwire.store.offline.read.scan import ReportProblem
    from rocketwire.store.offline.read.selected import SelectedMessage

#: A body that inflates to more is not shown: brokers accept 4 MiB by default.
_MOST_INFLATED: Final = 256 << 20
_HOSTS_KEPT: Final = 1024


def body_of(one: SelectedMessage, report: ReportProblem) -> bytes | None:
    """The body, inflated if it was compressed; None, and a report, where that is not possible."""
    message = one.message
    try:
        return decompress(message.body, message.sys_flag, max_size=_MOST_INFLATED)
    except WireError as error:
        from rocketwire.store.offline.read.scan import ReadProblem

        place = f"{message.topic}, queue {message.queue_id}, offset {message.queue_offset}"
        report(ReadProblem(place, message.physical_offset, str(error)))
        return None


def json_object(one: SelectedMessage, report: ReportProblem, *, broker: str | None = None) -> dict[str, Any]:
    """The names are those of the Spark reader's schema; `broker` is the broker's name if it is known.

    `body` is text, and null if the body is not UTF-8: then it is in `body_base64`. A body that cannot be inflated is
    shown as it is stored.
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
        "broker": broker,
    }
    body = body_of(one, report)
    try:
        found["body"] = None if body is None else body.decode()
    except UnicodeDecodeError:
        found["body"] = None
    if found["body"] is None:
        found["body_base64"] = base64.b64encode(message.body if body is None else body).decode()
    return found


@lru_cache(maxsize=_HOSTS_KEPT)
def _host(host: tuple[str, int]) -> str:
    address, port = host
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
