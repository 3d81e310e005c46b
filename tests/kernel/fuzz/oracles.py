"""What the kernel makes of any bytes, held against its Python twin and against construct's declarations.

Each oracle takes an input and raises AssertionError where they differ. The fuzzer calls them by the million; a test
calls them with the seeds and with whatever the fuzzer has found before.
"""

from __future__ import annotations

import ctypes
import json
import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import construct as cs

from rocketwire import _kernel as kernel
from rocketwire.wire import stored_properties
from rocketwire.wire.batch import BATCH_ITEM, decode_batch
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import BatchInvalid
from rocketwire.wire.facts.codes import RequestCode, SerializeType
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.frame import FRAME
from rocketwire.wire.header import BINARY_HEADER, decode_header
from rocketwire.wire.headers import WireHeader, decode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.pull import PullMessageRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.message_id_hosts import replace_hosts
from tests.kernel.fuzz.calls import call_acks, call_deliveries, call_sends, request_scan
from tests.kernel.fuzz.forwards import broker_answers, call_forwards
from tests.kernel.fuzz.http2 import http2
from tests.kernel.fuzz.json_lines import json_lines
from tests.kernel.fuzz.sends import sends

if TYPE_CHECKING:
    from typing_extensions import Buffer

WHOLE, PART, BAD = range(3)
CLUSTER_ITEM: Final = "CLUSTER\x01DefaultCluster"
_ITEMS: Final = cs.GreedyRange(BATCH_ITEM) >> cs.Terminated
_FORM: Final = struct.Struct(">i" + "i" * 4 + "q" * 5 + "BBH")


def _tight(data: bytes) -> ctypes.Array[ctypes.c_ubyte]:
    """The data without the zero byte that CPython puts behind those of a bytes object: what reads on is found out."""
    return (ctypes.c_ubyte * len(data)).from_buffer_copy(data)


def frames(data: bytes) -> None:
    """A stream of frames, cut one by one."""
    expected, error = FrameReader().receive(memoryview(data))
    at = 0
    for frame in expected:
        state, size, kind, header, body = kernel.scan_frame(_tight(data[at:]))
        assert state == WHOLE
        whole = data[at : at + size]
        found = (kind, _part(whole, header), _part(whole, body))
        assert found == (frame.serialize_type, bytes(frame.header), bytes(frame.body))
        declared = FRAME.parse(whole)
        assert found == (declared.serialize_type, declared.header, declared.body)
        at += size
    state, size, *_ = kernel.scan_frame(_tight(data[at:]))
    assert state == (PART if error is None else BAD)
    assert state == BAD or size == 0 or size > len(data) - at


def _part(data: bytes, place: tuple[int, int]) -> bytes:
    at, length = place
    return data[at : at + length]


def headers(data: bytes) -> None:
    """A header of either type, which the first byte chooses."""
    serialize_type, text = int(data[:1] == b"\1"), data[1:]
    found = kernel.read_header(_tight(text), serialize_type)
    if found is None:
        return
    code, flag, opaque, fields = found
    raw: dict[bytes, bytes] = {}
    for name, value, escaped in fields:
        plain = kernel.unescape(_tight(value)) if escaped else value
        if plain is None:  # who needs that field hands the request over
            return
        raw[name] = plain
    expected = decode_header(text, serialize_type)
    assert (code, flag, opaque) == (expected.code, expected.flag, expected.opaque)
    texts = {name.decode(): value.decode() for name, value in raw.items()}
    assert texts == (expected.ext or {})
    if serialize_type == SerializeType.JSON:
        declared = json.loads(text)
        assert (code, texts) == (declared["code"], declared.get("extFields") or {})
    else:
        declared = BINARY_HEADER.parse(text)
        assert (code, flag, opaque) == (declared.code, declared.flag, declared.opaque)
        assert raw == {entry.key: entry.value for entry in declared.ext}


class _Read(NamedTuple):
    """How a kind of request is read by the kernel and by Python."""

    by_kernel: Callable[[Buffer, int], tuple[Any, ...] | None]
    header: type[WireHeader]
    fields: tuple[str, ...]


_LAST: Final = ("max_reconsume_times", "batch", "bname")
_SEND_FIELDS: Final = (*(name for name in SendMessageRequestHeader.__struct_fields__ if name not in _LAST), *_LAST)
_SEND: Final = _Read(kernel.read_send, SendMessageRequestHeader, _SEND_FIELDS)
_PULL: Final = _Read(kernel.read_pull, PullMessageRequestHeader, PullMessageRequestHeader.__struct_fields__)
_OFFSET: Final = _Read(
    kernel.read_offset,
    UpdateConsumerOffsetRequestHeader,
    tuple(name for name in UpdateConsumerOffsetRequestHeader.__struct_fields__ if name != "bname"),
)
_READS: Final = {
    RequestCode.SEND_MESSAGE: _SEND,
    RequestCode.SEND_MESSAGE_V2: _SEND,
    RequestCode.SEND_BATCH_MESSAGE: _SEND,
    RequestCode.PULL_MESSAGE: _PULL,
    RequestCode.LITE_PULL_MESSAGE: _PULL,
    RequestCode.UPDATE_CONSUMER_OFFSET: _OFFSET,
}
_SHORT: Final = {RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE}


def id_hosts(data: bytes) -> None:
    """A header of any type, which the first byte says, with another host in its message ids."""
    serialize_type, text = (data[0], data[1:]) if data else (0, b"")
    hosts = b"7F000001", b"C0000201"
    assert kernel.rewritten_ids(_tight(text), serialize_type, *hosts) == replace_hosts(text, serialize_type, *hosts)


def requests(data: bytes) -> None:
    """The fields of sends, pulls and offset updates, of either type, which the first byte chooses."""
    serialize_type, text = int(data[:1] == b"\1"), data[1:]
    found = {read: read.by_kernel(_tight(text), serialize_type) for read in (_SEND, _PULL, _OFFSET)}
    if all(values is None for values in found.values()):
        return
    header = decode_header(text, serialize_type)
    for read, values in found.items():
        if values is None:
            continue
        code = RequestCode(header.code)
        assert _READS[code] is read
        typed = decode_ext(read.header, header.ext, short=code in _SHORT)
        assert values == tuple(getattr(typed, name) for name in read.fields)


def properties(data: bytes) -> None:
    """A message's property text, rewritten as it is stored, and read as it stands in a batch."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    expected = stored_properties.stored_properties(text, CLUSTER_ITEM)
    found = kernel.rewrite_properties(_tight(data), CLUSTER_ITEM.encode())
    assert found[0] == expected.data
    assert [_text(value) for value in found[1:4]] == [expected.unique_key, expected.keys, expected.tags]
    assert found[4] == (None if expected.wait is None else expected.wait.lower() == "true")
    assert found[5] == bool(expected.steering)
    assert found[6] == (0 in expected.data)
    found = kernel.look_at_properties(_tight(data))
    one = struct.pack(">iiiiih", 22 + len(data), 0, 0, 0, 0, len(data)) + data if len(data) <= 0x7FFF else b""
    for message in stored_properties.batch_messages(one):
        assert [_text(value) for value in found[1:4]] == [message.unique_key, message.keys, message.tags]
        assert found[5] == message.steering


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def batch(data: bytes) -> None:
    """A batch's body, taken apart."""
    found = kernel.take_batch(_tight(data))
    try:
        expected = decode_batch(data)
    except BatchInvalid:
        assert found is None
        return
    if found is None:
        assert any(_is_no_text(item.properties) for item in expected)
        return
    assert found == [tuple(item) for item in expected]
    assert found == [message[:3] for message in stored_properties.batch_messages(data)]
    assert found == [(item.flag, item.body, item.properties) for item in _ITEMS.parse(data)[0]]


def _is_no_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def records(data: bytes) -> None:
    """A record made of a message whose numbers and texts the input is; checksum and hash of the same bytes."""
    assert kernel.crc32(_tight(data)) == zlib.crc32(data)
    assert kernel.crc32(_tight(data), True) == zlib.crc32(data)
    if len(data) < _FORM.size:
        return
    version, queue_id, flag, sys_flag, reconsume_times, *longs, hosts, cut, body_length = _FORM.unpack_from(data)
    queue_offset, physical_offset, born_timestamp, store_timestamp, prepared_offset = longs
    body, rest = data[_FORM.size :][:body_length], data[_FORM.size :][body_length:]
    topic, stored = rest[: cut % 128], rest[cut % 128 :][:0x7FFF]
    try:
        name = topic.decode()
    except UnicodeDecodeError:
        return
    assert kernel.java_hash(_tight(topic)) == string_hash(name)
    magic = MAGIC_V2 if version & 1 else MAGIC_V1
    born, store = (("::1" if hosts & bit else "127.0.0.1", 10911) for bit in (1, 2))
    message = MessageRecord(
        topic=name,
        queue_id=queue_id,
        body=body,
        properties=stored,
        flag=flag,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        sys_flag=sys_flag,
        born_timestamp=born_timestamp,
        born_host=born,
        store_timestamp=store_timestamp,
        store_host=store,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        magic=magic,
    )
    length = struct.pack(">h" if magic == MAGIC_V2 else ">b", len(topic))
    third = len(stored) // 3
    assert encode_record(message) == kernel.write_record(
        length + topic,
        magic,
        queue_id,
        flag,
        sys_flag,
        reconsume_times,
        queue_offset,
        physical_offset,
        born_timestamp,
        store_timestamp,
        prepared_offset,
        encode_host(*born),
        encode_host(*store),
        body,
        (stored[:third], stored[third : 2 * third], stored[2 * third :]),
    )


ORACLES: Final[dict[str, Callable[[bytes], None]]] = {
    oracle.__name__: oracle
    for oracle in (
        frames,
        headers,
        id_hosts,
        requests,
        properties,
        batch,
        records,
        sends,
        json_lines,
        http2,
        call_sends,
        call_acks,
        request_scan,
        call_deliveries,
        call_forwards,
        broker_answers,
    )
}
