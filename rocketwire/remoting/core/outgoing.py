"""Messages of the application as what is sent: checked, with their ids and properties, compressed if large."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.errors import MessageInvalid
from rocketwire.remoting.messages import Message
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.errors import PropertiesInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import MAX_PROPERTIES_LENGTH
from rocketwire.wire.message_id import UniqueKey
from rocketwire.wire.names import RETRY_PREFIX, forbidden_send_reason, topic_name_error
from rocketwire.wire.properties import encode_properties

_COUNTERS: Final = 1 << 16
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class UniqueIds:
    """Makes ids that no other process makes.

    Args:
        host: The address of this machine, as text.
        process_id: The number of the process.
        entropy: Four random bytes, which differ for producers of the same address and process number.
        clock: The wall time.
    """

    def __init__(self, host: str, process_id: int, entropy: bytes, clock: Clock) -> None:
        self._ip = ipaddress.ip_address(host.partition("%")[0]).packed
        self._process_id = process_id & 0xFFFF
        self._loader_hash = int.from_bytes(entropy, "big")
        self._clock = clock
        self._month = _EPOCH
        self._next = 0  # ms * 65536 + counter, of the next id

    def next(self) -> str:
        """A new id. Ids of a month rise, whatever the clock does: tools read the time of sending from them."""
        now = _EPOCH + self._clock() * _MILLISECOND
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        least = (now - month) // _MILLISECOND * _COUNTERS
        self._next = least if month > self._month else max(self._next, least)
        self._month = max(month, self._month)
        elapsed, counter = divmod(self._next, _COUNTERS)
        self._next += 1
        return str(
            UniqueKey(
                ip=self._ip,
                process_id=self._process_id,
                loader_hash=self._loader_hash,
                elapsed=elapsed,
                counter=counter,
            )
        )


COMPRESS_FROM: Final = 4096
"""Bytes of a body that is compressed, as Java's client does."""
_LEVEL: Final = 5
_OWN: Final = {
    names.TAGS: "tags",
    names.KEYS: "keys",
    names.DELAY: "delay_level",
    names.TIMER_DELIVER_MS: "deliver_at_ms",
    names.SHARDING_KEY: "order_key",
}
"""Properties that arguments of a message set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedMessages:
    """One message, or a batch, as a send request holds it; a batch has no properties."""

    topic: str
    body: bytes = field(repr=False)
    properties: str | None = field(repr=False)
    sys_flag: int
    ids: tuple[str, ...]
    order_key: str | None = None


def encode_message(message: Message, ids: UniqueIds, most: int) -> EncodedMessages:
    """A single message; `most` bounds its body in bytes.

    Raises:
        MessageInvalid: it cannot be sent.
    """
    unique_id = ids.next()
    properties = _properties(message, unique_id)
    _check(message, most)
    body, sys_flag = compressed(message.body)
    return EncodedMessages(
        topic=message.topic,
        body=body,
        properties=properties,
        sys_flag=sys_flag,
        ids=(unique_id,),
        order_key=message.order_key,
    )


def compressed(body: bytes) -> tuple[bytes, int]:
    """A body as it is sent, and the system flag of that: a large one is compressed, if that makes it smaller."""
    if len(body) >= COMPRESS_FROM and len(smaller := zlib.compress(body, _LEVEL)) < len(body):
        return smaller, SysFlag.COMPRESSED
    return body, 0


def encode_message_batch(messages: Sequence[Message], ids: UniqueIds, most: int) -> EncodedMessages:
    """Several messages of one topic in one request; `most` bounds its body in bytes.

    Raises:
        MessageInvalid: one cannot be sent, or not together with the others.
    """
    if not messages:
        raise MessageInvalid("a batch has at least one message")
    first = messages[0]
    items: list[BatchItem] = []
    made: list[str] = []
    for each in messages:
        _check(each, most)
        if each.topic != first.topic or each.order_key != first.order_key:
            raise MessageInvalid("the messages of a batch have one topic and one order key")
        if each.delay_level or each.deliver_at_ms is not None or names.TIMER_DELAY_SEC in each.properties:
            raise MessageInvalid("messages that are delivered later cannot be sent in a batch")
        if each.topic.startswith(RETRY_PREFIX):
            raise MessageInvalid("messages of a retry topic cannot be sent in a batch")
        made.append(ids.next())
        items.append(BatchItem(0, each.body, _properties(each, made[-1]).encode()))
    body = encode_batch(items)
    if len(body) > most:
        raise MessageInvalid(f"a batch of {len(body)} bytes: {most} are allowed; send it in parts")
    return EncodedMessages(
        topic=first.topic,
        body=body,
        properties=None,
        sys_flag=0,
        ids=tuple(made),
        order_key=first.order_key,
    )


def _check(message: Message, most: int) -> None:
    problem = topic_name_error(message.topic) or forbidden_send_reason(message.topic)
    if problem is not None:
        raise MessageInvalid(f"topic {message.topic[:200]!r}: {problem}")
    if not message.body:
        raise MessageInvalid("a message has a body of at least one byte")
    if len(message.body) > most:
        raise MessageInvalid(f"a body of {len(message.body)} bytes: {most} are allowed")


def _properties(message: Message, unique_id: str) -> str:
    _check_names(message)
    own = {
        names.UNIQ_KEY: unique_id,
        names.TAGS: message.tags,
        names.KEYS: names.KEY_SEP.join(_keys(message)),
        names.DELAY: message.delay_level,
        names.TIMER_DELIVER_MS: message.deliver_at_ms,
        names.SHARDING_KEY: message.order_key,
    }
    try:
        text = encode_properties({**message.properties, **{name: str(own[name]) for name in own if own[name]}})
        size = len(text.encode())
    except (PropertiesInvalid, UnicodeEncodeError) as error:
        raise MessageInvalid(str(error)) from error
    if size > MAX_PROPERTIES_LENGTH:
        raise MessageInvalid(f"tags, keys and properties of {size} bytes: {MAX_PROPERTIES_LENGTH} are allowed")
    return text


def _keys(message: Message) -> Sequence[str]:
    """The keys; one may be given as a text."""
    return (message.keys,) if isinstance(message.keys, str) else message.keys


def _check_names(message: Message) -> None:
    for name, argument in _OWN.items():
        if name in message.properties:
            raise MessageInvalid(f"property {name}: use the argument {argument}")
    if any(not key or key.isspace() or names.KEY_SEP in key for key in _keys(message)):
        raise MessageInvalid("keys must not be empty, nor have blanks")
    if message.delay_level < 0:
        raise MessageInvalid(f"delay level {message.delay_level}: 0 or more is wanted")
