"""The bodies of frames as plain values: JSON, message records, batches, properties, text, or hexadecimal digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rocketwire.wire.batch import decode_batch
from rocketwire.wire.bodies import fastjson
from rocketwire.wire.compression import decompress
from rocketwire.wire.errors import BodyInvalid, WireError
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES
from rocketwire.wire.message import MessageRecord, decode_record
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.properties import decode_properties, decode_stored_properties

RECORDS: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.QUERY_MESSAGE,
        RequestCode.VIEW_MESSAGE_BY_ID,
    }
)
"""Codes whose answers have message records."""
_REQUESTS_WITH_RECORDS: Final = frozenset({RequestCode.CHECK_TRANSACTION_STATE, RequestCode.CONSUME_MESSAGE_DIRECTLY})
_SENDS: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
    }
)
_SETTINGS: Final = frozenset(
    {
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.UPDATE_NAMESRV_CONFIG,
        RequestCode.GET_NAMESRV_CONFIG,
    }
)
_MOST_INFLATED: Final = 64 << 20
_LENIENT: Final = 2 << 20


def has_messages(code: int, *, response: bool) -> bool:
    """Whether the body of a frame has what applications send, and nothing of RocketMQ's own."""
    return code in RECORDS if response else code in _SENDS or code in _REQUESTS_WITH_RECORDS


def body_value(body: bytes, code: int, *, response: bool) -> Any:  # noqa: ANN401 - any JSON value
    """A body as dicts, lists, texts and numbers; None if it is empty.

    Args:
        body: The body.
        code: The code of the request, also of an answer.
        response: Whether it is an answer's.
    """
    if not body:
        return None
    if (code in RECORDS) if response else (code in _REQUESTS_WITH_RECORDS):
        return _or_text(_records, body)
    if not response and code == RequestCode.SEND_BATCH_MESSAGE:
        return _or_text(_batch, body)
    if has_messages(code, response=response):
        return text(body)
    if code in _SETTINGS:
        return _or_text(_settings, body)
    if body[:1] in (b"{", b"["):
        return _or_text(_json, body)
    return text(body)


def text(data: bytes) -> Any:  # noqa: ANN401 - a text or an object
    """Bytes as text; as `{"hex": …}` where they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}


def _or_text(read: Callable[[bytes], Any], body: bytes) -> Any:  # noqa: ANN401 - JSON
    try:
        return read(body)
    except (WireError, ValueError):
        return text(body)


def _settings(body: bytes) -> dict[str, str]:
    """Lines of NAME=VALUE."""
    lines = (line.partition("=") for line in body.decode().splitlines() if line)
    return {name: value for name, _, value in lines}


def _json(body: bytes) -> Any:  # noqa: ANN401 - JSON
    return _plain(fastjson.loads(body, lenient_limit=_LENIENT, most_entries=MAX_JSON_ENTRIES))


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with texts for keys."""
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _key(key: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(key, str):
        return key
    if isinstance(key, fastjson.ObjectKey):
        return ", ".join(f"{name}={value}" for name, value in sorted(dict(key).items()))
    return str(key)


def _batch(body: bytes) -> list[dict[str, Any]]:
    return [
        {
            "flag": item.flag,
            "properties": decode_stored_properties(item.properties),
            "body": text(bytes(item.body)),
        }
        for item in decode_batch(body)
    ]


def records_of(body: bytes) -> list[MessageRecord]:
    """The message records of a body.

    Raises:
        WireError: it has others.
    """
    found = []
    at = 0
    while at < len(body):
        found.append(decode_record(body, at, check_crc=False))
        size = int.from_bytes(body[at : at + 4], "big")
        if size <= 0:
            raise BodyInvalid("a message record without a size")
        at += size
    return found


def _records(body: bytes) -> list[dict[str, Any]]:
    return [record_value(each) for each in records_of(body)]


def record_value(message: MessageRecord) -> dict[str, Any]:
    """A message record, its body inflated."""
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "physicalOffset": message.physical_offset,
        "offsetMsgId": offset_message_id(encode_host(*message.store_host), message.physical_offset),
        "sysFlag": message.sys_flag,
        "flag": message.flag,
        "bornTimestamp": message.born_timestamp,
        "bornHost": _host(message.born_host),
        "storeTimestamp": message.store_timestamp,
        "storeHost": _host(message.store_host),
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_transaction_offset,
        "bodyCRC": message.body_crc,
        "properties": decode_stored_properties(message.properties),
        "body": _inflated(message),
    }


def _inflated(message: MessageRecord) -> Any:  # noqa: ANN401 - JSON
    try:
        return text(decompress(message.body, message.sys_flag, max_size=_MOST_INFLATED))
    except WireError:
        return text(message.body)


def _host(host: tuple[str, int]) -> str:
    address, port = host
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def properties_value(fields: dict[str, str]) -> dict[str, Any]:
    """Extension fields, the text of properties in them as an object."""
    return {name: decode_properties(value) if name == "properties" else value for name, value in sorted(fields.items())}
