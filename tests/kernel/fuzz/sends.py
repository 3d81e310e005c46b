"""What the kernel's sends make of any frames: records, queue entries and answers, held against Python's.

Whatever topic and queue a send names, it goes to one queue, or to the timer's to wait for it, and its sysFlag is stored
as it is: what Python decides beforehand is not the matter here. A small quota lets the first send pass, and the second
if the first was small.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from rocketwire import _kernel as kernel
from rocketwire.native import LogTail, QueueTail
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.messages.real_queue import with_real_queue
from rocketwire.server.send.delivery_properties import wait_item
from rocketwire.server.throttle.bucket import PythonBucket
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.sends import TimerSends
from rocketwire.store.append.drafts import Draft
from rocketwire.store.index.key_column import PythonKeyColumn
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.wire import stored_properties
from rocketwire.wire.connection import FrameReader, RawFrame
from rocketwire.wire.errors import HeaderInvalid
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode, SerializeType
from rocketwire.wire.facts.record import MAGIC_V1
from rocketwire.wire.frame import FRAME_PREFIX, encode_frame
from rocketwire.wire.header import Header, decode_header, encode_header_around_opaque
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import SendMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.send_reply_frames import SendReplyFrames
from tests.wire.send_answers import binary_answer, json_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketwire.wire.stored_properties import BatchMessage, StoredProperties

BODY: Final = b"\xff\xfe"
"""What stands between the header and the body of an input: neither has it in sound requests of text."""

_NOW: Final = 1_700_000_000_000
_BASE: Final = 1 << 40
_LOG: Final = 20_000
_ENTRIES: Final = 40
_MOST: Final = 8_000
_MOST_KEYS: Final = 1 << 20
_FIRST: Final = 7
_BORN: Final = ("10.1.2.3", 4567)
_STORE: Final = ("127.0.0.1", 10911)
_CLUSTER: Final = "CLUSTER\x01DefaultCluster"
_TAIL: Final = b"WAIT\x01true"
_ANSWERS: Final = SendReplyFrames(region="R", trace_on=True, version=407)
_HOST_BITS: Final = 0x30
_RATE: Final = 8
_BYTES_EACH: Final = 16
_SHARDED: Final = 2
_SCHEDULED: Final = 3
_SHARDING: Final = b"__SHARDINGKEY\x01"
_REFUSAL: Final = Header(
    code=ResponseCode.FLOW_CONTROL, opaque=0, flag=FLAG_RESPONSE, ext={"MSG_REGION": "R"}, remark="slower"
)
_ID: Final = encode_host(*_STORE).hex().upper().encode() + b"%016X"


_DAYS: Final = 40 * 24 * 3600
_KEYS: Final = LiveGroup(TimerKeys(timer_max_delay_sec=_DAYS))
_BROKER: Final = LiveGroup(BrokerKeys(broker_name="b"))
_TOPICS: Any = SimpleNamespace(get=lambda _: True)
_TIMERS: Final = TimerSends(_KEYS, _BROKER, _TOPICS, lambda: _NOW)
_TIMED: Final = (_DAYS * 1000, with_real_queue(b"x", "T", 3)[1:], b"v1 T b ")


class _Queue(QueueTail):
    """Queue 3 of topic T, or the timer's."""

    def __init__(self, topic: str = "T", queue_id: int = 3) -> None:
        super().__init__()
        self.buffer = bytearray(_ENTRIES * ENTRY_STRUCT.size)
        self.limit = len(self.buffer)
        self.queue_id, self.magic, self.end = queue_id, MAGIC_V1, _FIRST
        self.topic_field = bytes([len(topic)]) + topic.encode()
        self.index_prefix_hash = string_hash(f"{topic}#")

    def extend(self, entries: int) -> None:
        """There is no more room."""
        raise OSError(entries)


def _tight(data: bytes) -> Any:
    """The data without a byte behind it that may be read."""
    return (ctypes.c_ubyte * len(data)).from_buffer_copy(data)


def _refuse(size: int) -> None:
    raise OSError(size)


class Read(NamedTuple):
    """How much of an input the kernel did."""

    requested: bool
    """It read the header, and needed a plan."""
    taken: bool
    """It served the request."""


def sends(data: bytes) -> Read:
    """A header, whose serialisation the first byte is, and, behind `BODY`, a body: a frame that comes twice at once."""
    kind = int(data[:1] == b"\1")
    header, _, body = data[1:].partition(BODY)
    stream = 2 * (FRAME_PREFIX.pack(4 + len(header) + len(body), kind << 24 | len(header)) + header + body)
    log, queue, timer = LogTail(), _Queue(), _Queue(TIMER_TOPIC, 0)
    log.base = log.position = _BASE
    memory: Any = bytearray(_LOG)
    log.buffer, log.limit = memory, _BASE + _LOG
    bucket = kernel.Bucket(_RATE, 0)
    quota = ((bucket,), ("topic",), _BYTES_EACH, 1, _SHARDED, _SCHEDULED)
    keys = kernel.KeyColumn(_MOST_KEYS)
    requested: list[tuple[Any, ...]] = []

    def plan(*fields: Any) -> Any:
        requested.append(fields)
        _, _, sys_flag, batch, _ = fields
        if batch is None:
            return queue, sys_flag, None, False, (timer, *_TIMED), quota
        return queue, sys_flag, _TAIL, True, None, quota

    path = kernel.Sends(
        log,
        plan=plan,
        make_room=_refuse,
        waiting=lambda *_: None,
        slow=lambda *_: None,
        keys=keys,
        store_host=encode_host(*_STORE),
        broker_items=_CLUSTER.encode(),
        answers=(_ANSWERS.parts, _ANSWERS.binary_parts),
        id_prefix=_ID[:16],
        max_body=_MOST,
    )
    json_refusal, binary_refusal = (encode_header_around_opaque(_REFUSAL, kind) for kind in (0, 1))
    path.refusal = (json_refusal, binary_refusal)
    path.by_group = True
    answers, taken = path.serve(None, encode_host(*_BORN), _NOW, _tight(stream))
    for fields in requested:
        _check_plan(fields, header, kind)
    frames, error = FrameReader().receive(memoryview(stream[:taken]))
    assert error is None
    expected = _Expected()
    for frame in frames:
        expected.add(frame)
    assert log.position - _BASE == len(expected.log)
    assert memory[: len(expected.log)] == expected.log
    for each, entries in ((queue, expected.entries["T"]), (timer, expected.entries[TIMER_TOPIC])):
        assert each.end == _FIRST + len(entries) // ENTRY_STRUCT.size
        assert each.buffer[: each.position] == entries
    assert answers == expected.answers
    assert _rows(keys) == _rows(expected.keys)
    _, messages, _, _, converted, refused, _ = path.take()
    assert messages == queue.end + timer.end - 2 * _FIRST
    assert (converted, sum(refused.values())) == (expected.bucket.taken, expected.refused)
    assert bucket.level == expected.bucket.level
    return Read(bool(requested), taken > 0)


def _rows(keys: Any) -> list[list[int]]:
    """Hashes, places and times of the keys of all messages."""
    found = keys.take(_BASE, _MOST_KEYS)
    return [[], [], []] if found is None else [list(row) for row in found[:3]]


def _check_plan(requested: tuple[Any, ...], text: bytes, kind: int) -> None:
    """The kernel needs the plan for the header; the properties are read later, and may be wrong."""
    try:
        header = decode_header(text, kind)
    except HeaderInvalid:
        return
    assert not header.is_response
    fields = decode_ext(SendMessageRequestHeader, header.ext, short=header.code != RequestCode.SEND_MESSAGE)
    topic, queue_id, sys_flag, batch, group = requested
    expected = fields.topic, fields.queue_id, fields.sys_flag, fields.batch, fields.producer_group
    assert (topic, queue_id, sys_flag, batch is not None, group) == expected


class _Expected:
    """What the frames make of an empty log and queues."""

    def __init__(self) -> None:
        self.log = bytearray()
        self.entries = {"T": bytearray(), TIMER_TOPIC: bytearray()}
        self.answers = b""
        self.bucket = PythonBucket(_RATE, 0)
        self.keys = PythonKeyColumn(_MOST_KEYS)
        self.refused = 0

    def add(self, frame: RawFrame) -> None:
        """Store and answer a send as Python does."""
        header = decode_header(frame.header, frame.serialize_type)
        short = header.code != RequestCode.SEND_MESSAGE
        fields = decode_ext(SendMessageRequestHeader, header.ext, short=short)
        assert len(frame.body) <= _MOST
        if not self.bucket.ready(0):
            self.refused += 1
            answer = encode_frame(msgspec.structs.replace(_REFUSAL, opaque=header.opaque), b"", frame.serialize_type)
        elif not fields.batch:
            answer = self._store_one(frame.serialize_type, header.opaque, fields, bytes(frame.body))
        else:
            first = self._offset("T")
            ids = [_ID % place for place in self._store_batch(fields, bytes(frame.body))]
            assert ids
            answer = _answer(frame.serialize_type, header.opaque, b",".join(ids), 3, first)
        if not header.flag & FLAG_ONEWAY:
            self.answers += answer

    def _offset(self, topic: str) -> int:
        return _FIRST + len(self.entries[topic]) // ENTRY_STRUCT.size

    def _store_one(self, kind: int, opaque: int, fields: SendMessageRequestHeader, body: bytes) -> bytes:
        found = stored_properties.stored_properties(fields.properties or "", _CLUSTER)
        draft = Draft("T", 3, body, found.data, 0, 0, 0, b"", unique_key=found.unique_key)
        handle, requested = None, 3
        if found.steering:
            handle, requested = _TIMERS.schedule(draft, found.steering, wait_item(found.wait)), fields.queue_id
            assert draft.topic == TIMER_TOPIC
        self._charge(body, found.data, _SCHEDULED if found.steering else 1)
        offset = self._offset(draft.topic)
        place = self._append(fields, fields.flag, body, draft.properties, found, draft.topic, draft.queue_id)
        return _answer(kind, opaque, _ID % place, requested, offset, handle)

    def _store_batch(self, fields: SendMessageRequestHeader, body: bytes) -> Iterator[int]:
        for each in stored_properties.batch_messages(body):
            separator = b"" if not each.properties or each.properties.endswith(b"\x02") else b"\x02"
            assert not each.steering
            self._charge(each.body, each.properties)
            yield self._append(fields, each.flag, each.body, each.properties + separator + _TAIL, each)

    def _charge(self, body: bytes, properties: bytes, factor: int = 1) -> None:
        items = properties.split(b"\x02")
        sharded = any(item.startswith(_SHARDING) and item != _SHARDING for item in items)
        self.bucket.take(-(-max(len(body), 1) // _BYTES_EACH) * max(factor, _SHARDED * sharded))

    def _append(
        self,
        fields: SendMessageRequestHeader,
        flag: int,
        body: bytes,
        stored: bytes,
        found: StoredProperties | BatchMessage,
        topic: str = "T",
        queue_id: int = 3,
    ) -> int:
        assert 0 not in stored
        place = _BASE + len(self.log)
        record = encode_record(
            MessageRecord(
                topic=topic,
                queue_id=queue_id,
                body=body,
                properties=stored,
                flag=flag,
                queue_offset=self._offset(topic),
                physical_offset=place,
                sys_flag=fields.sys_flag & ~_HOST_BITS,
                born_timestamp=fields.born_timestamp,
                born_host=_BORN,
                store_timestamp=_NOW,
                store_host=_STORE,
                reconsume_times=fields.reconsume_times or 0,
                prepared_transaction_offset=0,
                magic=MAGIC_V1,
            )
        )
        self.log += record
        prefix = string_hash(f"{topic}#")
        self.keys.add(place, place + len(record), [prefix, found.unique_key, found.keys, place, _NOW])
        self.entries[topic] += ENTRY_STRUCT.pack(place, len(record), stored_properties.tags_code(found.tags))
        return place


def _answer(kind: int, opaque: int, ids: bytes, queue_id: int, offset: int, handle: bytes | None = None) -> bytes:
    """The answer to a stored send, in the serialisation of its request."""
    if kind == SerializeType.JSON:
        return json_answer(_ANSWERS, opaque, ids, queue_id, offset, recall_handle=handle)
    return binary_answer(opaque, ids.decode(), queue_id, offset, None if handle is None else handle.decode())
