"""Reading and writing the message record, as the commit log stores it and a pull returns it.

`wire.facts.record` declares its layout. The functions here do the same with less work; tests prove them equal.
"""

import zlib
from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import Final

from rocketwire.wire.errors import (
    PropertiesInvalid,
    RecordBlank,
    RecordCrcMismatch,
    RecordInvalid,
    RecordMagicUnknown,
    RecordTruncated,
    RecordUnwritten,
)
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import (
    BLANK_MAGIC,
    BODY_CRC_MASK,
    HOST_BITS,
    MAGIC_V1,
    MAX_PROPERTIES_LENGTH,
    RECORD_HEADS,
    SYS_FLAG_AT,
    TOPIC_LENGTH_FORMATS,
)
from rocketwire.wire.hosts import HOST_V6_SIZE, decode_host, encode_host

_INT16: Final = Struct(">h")
_SIZE_AND_MAGIC: Final = Struct(">ii")
_SYS_FLAG: Final = Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """One record: times in milliseconds since 1970, hosts as (address, port), properties as stored."""

    topic: str
    queue_id: int
    body: bytes
    properties: bytes = b""
    flag: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: tuple[str, int] = ("0.0.0.0", 0)  # noqa: S104  (an address to store, not one to listen on)
    store_timestamp: int = 0
    store_host: tuple[str, int] = ("0.0.0.0", 0)  # noqa: S104  (an address to store, not one to listen on)
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    magic: int = MAGIC_V1
    body_crc: int | None = None
    """As stored; None before the record is written, which then computes it."""


Message = MessageRecord
"""Its name until 0.1.0."""


def body_crc(body: bytes | memoryview) -> int:
    """Give the CRC of a body in Apache's form, 31 bits: of a record's body as stored (not inflated), for instance."""
    return zlib.crc32(body) & BODY_CRC_MASK


def encode_record(message: MessageRecord) -> bytes:
    """Write a record; the host bits of the sysFlag follow the hosts given.

    Raises:
        RecordInvalid: a value does not fit its field, the topic is too long, or the magic number is unknown.
        PropertiesInvalid: the properties are longer than 32767 bytes.
        HostInvalid: a host is no IP address.
    """
    born_host, store_host = encode_host(*message.born_host), encode_host(*message.store_host)
    sys_flag = message.sys_flag & ~HOST_BITS
    sys_flag |= SysFlag.BORN_HOST_V6 if len(born_host) == HOST_V6_SIZE else 0
    sys_flag |= SysFlag.STORE_HOST_V6 if len(store_host) == HOST_V6_SIZE else 0
    if message.magic not in TOPIC_LENGTH_FORMATS:
        raise RecordMagicUnknown(message.magic)
    if len(message.properties) > MAX_PROPERTIES_LENGTH:
        raise PropertiesInvalid(
            f"properties of {len(message.properties)} bytes are longer than {MAX_PROPERTIES_LENGTH}"
        )
    form = RECORD_HEADS[sys_flag & HOST_BITS]
    topic_length = TOPIC_LENGTH_FORMATS[message.magic]
    try:
        topic = message.topic.encode()
        return b"".join(
            (
                form.pack(
                    form.size
                    + len(message.body)
                    + topic_length.size
                    + len(topic)
                    + _INT16.size
                    + len(message.properties),
                    message.magic,
                    body_crc(message.body) if message.body_crc is None else message.body_crc,
                    message.queue_id,
                    message.flag,
                    message.queue_offset,
                    message.physical_offset,
                    sys_flag,
                    message.born_timestamp,
                    born_host,
                    message.store_timestamp,
                    store_host,
                    message.reconsume_times,
                    message.prepared_transaction_offset,
                    len(message.body),
                ),
                message.body,
                topic_length.pack(len(topic)),
                topic,
                _INT16.pack(len(message.properties)),
                message.properties,
            )
        )
    except (struct_error, UnicodeEncodeError) as error:
        raise RecordInvalid(f"message cannot be written as a record: {error}") from error


def decode_record(buf: bytes | bytearray | memoryview, offset: int = 0, *, check_crc: bool = True) -> MessageRecord:
    """Read the record at an offset of a buffer; the bytes behind it are ignored.

    Raises:
        RecordUnwritten: the size is zero: nothing was ever written there.
        RecordBlank: it is the blank at the end of a file.
        RecordMagicUnknown: it is neither.
        RecordTruncated: the buffer ends before the record.
        RecordCrcMismatch: the body is not the one stored.
        RecordInvalid: the lengths inside do not add up, or the topic is no UTF-8.
    """
    view = memoryview(buf)[offset:]
    if len(view) < _SIZE_AND_MAGIC.size:
        raise RecordTruncated(_SIZE_AND_MAGIC.size, len(view))
    total, magic = _SIZE_AND_MAGIC.unpack_from(view)
    if magic == BLANK_MAGIC:
        raise RecordBlank(total)
    if total == 0:
        raise RecordUnwritten
    if magic not in TOPIC_LENGTH_FORMATS:
        raise RecordMagicUnknown(magic)
    if total > len(view):
        raise RecordTruncated(total, len(view))
    if total < RECORD_HEADS[0].size:
        raise RecordInvalid(f"message record has the impossible size {total}")
    return _decode(bytes(view[:total]), magic, check_crc=check_crc)


def _decode(data: bytes, magic: int, *, check_crc: bool) -> MessageRecord:
    (sys_flag,) = _SYS_FLAG.unpack_from(data, SYS_FLAG_AT)
    form = RECORD_HEADS[sys_flag & HOST_BITS]
    try:
        (
            _total,
            _magic,
            crc,
            queue_id,
            flag,
            queue_offset,
            physical_offset,
            _sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            body_length,
        ) = form.unpack_from(data)
        body, at = _take(data, form.size, body_length)
        topic, at = _counted(data, at, TOPIC_LENGTH_FORMATS[magic])
        properties, at = _counted(data, at, _INT16)
        name = topic.decode()
    except (struct_error, UnicodeDecodeError) as error:
        raise RecordInvalid(f"message record of {len(data)} bytes is damaged: {error}") from error
    if at != len(data):
        raise RecordInvalid(f"message record of {len(data)} bytes holds only {at}")
    if check_crc and (found := body_crc(body)) != crc:
        raise RecordCrcMismatch(crc, found)
    return MessageRecord(
        topic=name,
        queue_id=queue_id,
        body=body,
        properties=properties,
        flag=flag,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        sys_flag=sys_flag,
        born_timestamp=born_timestamp,
        born_host=decode_host(born_host),
        store_timestamp=store_timestamp,
        store_host=decode_host(store_host),
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_transaction_offset,
        magic=magic,
        body_crc=crc,
    )


def _counted(data: bytes, at: int, length: Struct) -> tuple[bytes, int]:
    return _take(data, at + length.size, length.unpack_from(data, at)[0])


def _take(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if not 0 <= length <= len(data) - at:
        raise RecordInvalid(f"message record has an item of {length} bytes where {len(data) - at} are left")
    return data[at : at + length], at + length
