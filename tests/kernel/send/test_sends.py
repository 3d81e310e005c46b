"""The kernel's sends alone: what they fetch from Python, and what they do when Python gives no room or raises."""

from __future__ import annotations

import gc
import mmap
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from rocketwire import native
from rocketwire.native import LogTail, QueueTail
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.record import MAGIC_V1
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import body_crc, decode_record
from rocketwire.wire.recall_handle import encode_recall_handle
from rocketwire.wire.send_reply_frames import SendReplyFrames
from tests.server.harness import batch_body, send_ext
from tests.wire.send_answers import binary_answer, json_answer

NOW = 1_700_000_000_000
HOST = bytes([127, 0, 0, 1, 0, 0, 0x2A, 0x9F])
BORN = bytes([10, 1, 2, 3, 0, 0, 0x11, 0xD7])
SESSION = object()
ANSWERS = SendReplyFrames(region="R", trace_on=True, version=407)
V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE


class Stopped(BaseException):
    """Ends the process, as KeyboardInterrupt does."""


class Queue(QueueTail):
    """Queue 3 of topic T, with room for some entries."""

    def __init__(self, room: int = 100) -> None:
        super().__init__()
        self.buffer = mmap.mmap(-1, 4096)
        self.limit = room * 20
        self.queue_id, self.magic, self.topic_field = 3, MAGIC_V1, b"\1T"
        self.end = 7
        self.requests: list[int] = []
        self.extending: Callable[[], None] = lambda: None

    def extend(self, entries: int = 1) -> None:
        self.requests.append(entries)
        self.extending()

    def entries(self) -> list[tuple[int, ...]]:
        assert self.buffer is not None
        return list(ENTRY_STRUCT.iter_unpack(bytes(self.buffer[: self.position])))


class Rig:
    """The kernel's sends on a log of one file, and what they called."""

    def __init__(self, room: int = 60_000, **changes: Any) -> None:
        self.log = LogTail()
        self.log.buffer = self.mapping = mmap.mmap(-1, 65_536)
        self.log.base = self.log.position = 1 << 33
        self.log.limit = self.log.base + room
        self.queue = Queue()
        self.plans: list[tuple[object, ...]] = []
        self.answer: Any = lambda: (self.queue, 0, None, False)
        self.requests: list[int] = []
        self.making: Callable[[], None] = lambda: None
        self.waiting: list[tuple[object, bytes, int]] = []
        self.slow: list[int] = []
        kernel = native.kernel
        assert kernel is not None
        self.sends = kernel.Sends(self.log, **{**self._options(), **changes})

    def _options(self) -> dict[str, Any]:
        return {
            "plan": self._plan,
            "make_room": self._make_room,
            "waiting": lambda *reported: self.waiting.append(reported),
            "slow": self.slow.append,
            "keys": None,
            "store_host": HOST,
            "broker_items": b"CLUSTER\x01C",
            "answers": (ANSWERS.parts, ANSWERS.binary_parts),
            "id_prefix": HOST.hex().upper().encode(),
            "max_body": 10_000,
        }

    def _plan(self, *requested: object) -> Any:
        self.plans.append(requested)
        return self.answer()

    def _make_room(self, size: int) -> None:
        self.requests.append(size)
        self.making()

    def serve(self, *frames: bytes) -> tuple[bytes, int]:
        """Serve frames; give the answers, and how many frames were taken."""
        answers, taken = self.sends.serve(SESSION, BORN, NOW, b"".join(frames))
        lengths = list(map(len, frames))
        return answers, [sum(lengths[:count]) for count in range(len(frames) + 1)].index(taken)

    def records(self) -> list[Any]:
        found = []
        at = self.log.base
        while at < self.log.position:
            data = self.mapping[at - self.log.base : self.log.position - self.log.base]
            found.append(decode_record(data))
            at += int.from_bytes(data[:4])
        return found


@pytest.fixture
def rig() -> Rig:
    return Rig()


def send(
    body: bytes = b"body", opaque: int = 1, *, code: int = V2, flag: int = 0, kind: int = 0, **changes: Any
) -> bytes:
    header = Header(code=code, opaque=opaque, flag=flag, version=407, ext=send_ext("T", **{"queue_id": 3, **changes}))
    return encode_frame(header, body, kind)


def batch(count: int, size: int = 10, **changes: Any) -> bytes:
    return send(batch_body([bytes([each]) * size for each in range(count)]), code=BATCH, batch=True, **changes)


def test_records_entries_and_answers(rig: Rig) -> None:
    answers, taken = rig.serve(send(b"one", 1, tags="A"), send(b"two", 2), send(b"three", 3, flag=2))
    assert taken == 3
    first, second, third = rig.records()
    assert [each.body for each in (first, second, third)] == [b"one", b"two", b"three"]
    assert [each.queue_offset for each in (first, second, third)] == [7, 8, 9]
    assert rig.queue.end == 10
    assert rig.queue.entries()[0] == (first.physical_offset, second.physical_offset - first.physical_offset, ord("A"))
    ids = [HOST.hex().upper().encode() + b"%016X" % each.physical_offset for each in (first, second)]
    assert answers == json_answer(ANSWERS, 1, ids[0], 3, 7) + json_answer(ANSWERS, 2, ids[1], 3, 8)
    touched, messages, size, requests, converted, refused, given_back = rig.sends.take()
    assert (touched, messages, size, requests) == ([rig.queue], 3, rig.log.position - rig.log.base, {V2: 3})
    assert (converted, refused, given_back) == (0, {}, {})
    assert rig.sends.take() == ([], 0, 0, {}, 0, {}, {})


def test_a_record_has_the_checksum_of_its_body_whatever_its_length() -> None:
    bodies = [bytes(i * i * 7 + i * 31 & 0xFF for i in range(length)) for length in (*range(700), 9_999)]
    rig = Rig()
    for body in bodies:
        rig.serve(send(body))
        (record,) = rig.records()
        assert (record.body, record.body_crc) == (body, body_crc(body))
        rig.log.position, rig.queue.position = rig.log.base, 0


@pytest.mark.parametrize("opaque", [0, -1, 2**31 - 1])
def test_each_answer_is_in_the_serialisation_of_its_request(rig: Rig, opaque: int) -> None:
    answers, taken = rig.serve(send(b"one", opaque, kind=1), send(b"two", kind=0), send(b"three", flag=2, kind=1))
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    of_batch, batches = rig.serve(batch(3, opaque=opaque, kind=1))
    assert (taken, batches) == (3, 1)
    ids = [HOST.hex().upper() + f"{each.physical_offset:016X}" for each in rig.records()]
    expected = [binary_answer(opaque, text, 3, offset) for text, offset in ((ids[0], 7), (",".join(ids[3:]), 10))]
    assert answers == expected[0] + json_answer(ANSWERS, 1, ids[1].encode(), 3, 8)
    assert of_batch == expected[1]


def test_a_queue_is_reported_again_after_it_was_taken(rig: Rig) -> None:
    for _ in range(2):
        rig.serve(send(), send())
        assert rig.sends.take()[:2] == ([rig.queue], 2)


def test_a_plan_is_fetched_once(rig: Rig) -> None:
    rig.serve(send(), send(sys_flag=1), send(producer_group="other"), send(reconsume_times=1, properties="a\x01b"))
    rig.serve(send())
    assert rig.plans == [("T", 3, 0, None, ""), ("T", 3, 1, None, "")]
    rig.sends.forget()
    rig.serve(send())
    assert rig.plans == [("T", 3, 0, None, ""), ("T", 3, 1, None, ""), ("T", 3, 0, None, "")]


def test_the_plan_of_a_batch_depends_on_its_properties(rig: Rig) -> None:
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    texts = ["WAIT\x01true", 'a\x01"\u6807', "WAIT\x01true", ""]
    rig.serve(*[batch(2, properties=text) for text in texts])
    assert rig.plans == [("T", 3, 0, text, "") for text in (*texts[:2], "")]
    assert [each.properties for each in rig.records()] == [b"tail"] * 8


@pytest.mark.parametrize("kind", [0, 1])
def test_a_batch_may_have_no_properties(rig: Rig, kind: int) -> None:
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    ext = {name: value for name, value in send_ext("T", queue_id=3, batch=True).items() if name != "i"}
    header = Header(code=BATCH, opaque=1, flag=0, version=407, ext=ext)
    assert rig.serve(encode_frame(header, batch_body([b"a"]), kind))[1] == 1
    assert rig.plans == [("T", 3, 0, "", "")]
    assert [each.properties for each in rig.records()] == [b"tail"]


def test_a_batch_with_another_unique_key_needs_no_other_plan(rig: Rig) -> None:
    rig.answer = lambda: (rig.queue, 0, b"a\x01b\x02UNIQ_KEY\x01\x03\x02CLUSTER\x01C", True)
    texts = [f"a\x01b\x02UNIQ_KEY\x01{key}\x02" for key in ("one", "another", "\u6807")]
    assert rig.serve(*[batch(1, properties=text) for text in texts])[1] == 3
    assert rig.plans == [("T", 3, 0, "a\x01b\x02UNIQ_KEY\x01\x03\x02", "")]
    keys = [key.encode() for key in ("one", "another", "\u6807")]
    assert [each.properties for each in rig.records()] == [
        b"a\x01b\x02UNIQ_KEY\x01%b\x02CLUSTER\x01C" % key for key in keys
    ]
    for odd in ("UNIQ_KEY\x01a\x03", "UNIQ_KEY\x01a\0", "a\x01\x03\x02UNIQ_KEY\x01a"):
        assert rig.serve(batch(1, properties=odd))[1] == 0
    rig.answer = lambda: (rig.queue, 0, b"no place for it", True)
    assert rig.serve(batch(1, properties="UNIQ_KEY\x01a"))[1] == 0
    rig.answer = lambda: (rig.queue, 0, b"longer than it can be\x03" + bytes(100), True)
    assert rig.serve(batch(1, properties="b\x01c\x02UNIQ_KEY\x01a"))[1] == 0


@pytest.mark.parametrize(
    ("common", "keys", "tag"),
    [
        ("", ["own", "k1", "k2"], "A"),
        ("UNIQ_KEY\x01batch\x02", ["batch", "k1", "k2"], "A"),
        ("KEYS\x01k3", ["own", "k3"], "A"),
        ("TAGS\x01B\x02TAGS\x01", ["own", "k1", "k2"], "B"),
        ("UNIQ_KEY\x01\x02KEYS\x01\x02TAGS\x01", ["own", "k1", "k2"], "A"),
    ],
)
def test_keys_and_tag_of_a_batch_count_before_those_of_its_messages(common: str, keys: list[str], tag: str) -> None:
    column = native.kernel.KeyColumn(100)  # type: ignore[union-attr]
    rig = Rig(keys=column)
    tail = common.replace("\x01batch", "\x01\x03").encode() + b"\x02CLUSTER\x01C"
    rig.answer = lambda: (rig.queue, 0, tail, True)
    own = "TAGS\x01A\x02UNIQ_KEY\x01own\x02KEYS\x01k1 k2\x02KEYS\x01"
    assert rig.serve(send(batch_body([b"a"], own), code=BATCH, batch=True, properties=common))[1] == 1
    hashes, *_ = column.take(rig.log.base, 100)
    prefix = rig.queue.index_prefix_hash
    assert list(hashes) == [abs(string_hash(key, prefix)) for key in keys]
    assert [tags_code for _, _, tags_code in rig.queue.entries()] == [ord(tag)]


def test_a_plan_for_python_is_not_fetched_again(rig: Rig) -> None:
    rig.answer = lambda: None
    assert rig.serve(send())[1] == rig.serve(send())[1] == 0
    assert len(rig.plans) == 1


def test_without_a_plan_to_keep_python_is_called_again(rig: Rig) -> None:
    rig.answer = lambda: False
    assert rig.serve(send())[1] == rig.serve(send())[1] == 0
    assert len(rig.plans) == 2


def test_a_forgotten_plan_serves_the_frame_it_was_made_for(rig: Rig) -> None:
    def answer() -> object:
        rig.sends.forget()
        return rig.queue, 0, None, False

    rig.answer = answer
    assert rig.serve(send(), send())[1] == 2
    assert len(rig.plans) == 2


def test_more_plans_than_are_kept(rig: Rig) -> None:
    for number in range(20_000):
        rig.serve(send(b"", sys_flag=number, properties=""))
        rig.log.position, rig.queue.position = rig.log.base, 0
    requested = len(rig.plans)
    assert requested == 20_000
    rig.serve(send(sys_flag=19_999))
    assert len(rig.plans) == requested
    rig.serve(send(sys_flag=0))
    assert len(rig.plans) == requested + 1


def test_a_key_that_is_too_long_is_for_python(rig: Rig) -> None:
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    assert rig.serve(batch(1, properties="a\x01" + "x" * 600))[1] == 1
    assert rig.serve(batch(1, properties="a\x01" + "x" * 640))[1] == 0


def timer_plan(rig: Rig, **changes: Any) -> Queue:
    """Have the rig plan for messages for a set time, which wait in the queue that is given."""
    waiting = Queue()
    waiting.queue_id, waiting.topic_field, waiting.end = 0, b"\1W", 40
    plan = {"queue": waiting, "most": 60_000, "behind": b"\2R\1T", "handle": b"v1 T b ", **changes}
    rig.answer = lambda: (rig.queue, 0, None, False, tuple(plan.values()))
    return waiting


def test_a_message_for_a_set_time_waits_in_the_timers_queue(rig: Rig) -> None:
    waiting = timer_plan(rig)
    text = "UNIQ_KEY\x01U\x02TIMER_DELAY_MS\x01500\x02WAIT\x01True\x02TAGS\x01A"
    answers, taken = rig.serve(
        send(properties=text), send(properties="a\x01b"), send(properties=text, opaque=3, kind=1)
    )
    assert taken == 3
    first, second, third = rig.records()
    assert [(each.topic, each.queue_id, each.queue_offset) for each in (first, second, third)] == [
        ("W", 0, 40),
        ("T", 3, 7),
        ("W", 0, 41),
    ]
    stored = f"UNIQ_KEY\1U\2TIMER_DELAY_MS\x01500\2TAGS\1A\2CLUSTER\1C\2WAIT\1True\2TIMER_OUT_MS\1{NOW + 499}\2R\1T"
    assert first.properties == third.properties == stored.encode()
    assert waiting.entries()[0] == (first.physical_offset, second.physical_offset - first.physical_offset, ord("A"))
    handle = encode_recall_handle("T", "b", NOW + 500, "U")
    ids = [HOST.hex().upper() + f"{each.physical_offset:016X}" for each in (first, second, third)]
    assert answers == json_answer(ANSWERS, 1, ids[0].encode(), 3, 40, recall_handle=handle) + json_answer(
        ANSWERS, 1, ids[1].encode(), 3, 7
    ) + binary_answer(3, ids[2], 3, 41, handle.decode())
    assert rig.sends.take()[:2] == ([waiting, rig.queue], 3)


@pytest.mark.parametrize("key", ["", "U", "UU", "UUU", "\xe9\xff?>", "k" * 30_000])
def test_a_handle_is_base64(rig: Rig, key: str) -> None:
    timer_plan(rig)
    answers, taken = rig.serve(send(properties=f"TIMER_DELAY_SEC\x015\x02UNIQ_KEY\x01{key}"))
    assert taken == 1
    handle = encode_recall_handle("T", "b", NOW + 5000, key) if key else b""
    assert (b'"recallHandle":"%b"' % handle in answers) is bool(key)
    assert rig.records()[0].properties.endswith(b"TIMER_OUT_MS\x01%d\x02R\x01T" % (NOW + 4999))


def test_without_a_key_that_fits_there_is_no_handle(rig: Rig) -> None:
    timer_plan(rig)
    assert b"recallHandle" not in rig.serve(send(properties="TIMER_DELAY_SEC\x015\x02UNIQ_KEY\x01a b"))[0]
    rig.sends.forget()
    timer_plan(rig, handle=None)
    answers, taken = rig.serve(send(properties="TIMER_DELAY_SEC\x015\x02UNIQ_KEY\x01ab"))
    assert (b"recallHandle" in answers, taken) == (False, 1)


@pytest.mark.parametrize(
    "text",
    [
        *("TIMER_DELAY_SEC\x010", "TIMER_DELAY_SEC\x0161", "TIMER_DELAY_MS\x01-1", "TIMER_DELAY_MS\x01+1"),
        *(f"TIMER_DELIVER_MS\x01{NOW}", f"TIMER_DELIVER_MS\x01{NOW + 60_001}", "TIMER_DELIVER_MS\x01x"),
        *("TIMER_DELAY_SEC\x01" + "1" * 16, "TIMER_DELAY_SEC\x01\u0663", "TIMER_DELAY_SEC\x019" * 15),
        *("TIMER_DELAY_SEC\x013\x02TIMER_DELAY_SEC\x013", "DELAY\x011\x02TIMER_DELAY_SEC\x013"),
        *("TIMER_DELAY_SEC\x013\x02TIMER_DEL_UNIQKEY\x01U", "TRAN_MSG\x01true\x02TIMER_DELAY_SEC\x013"),
        *("TIMER_DELAY_SEC\x013\x02TIMER_OUT_MS\x011", "TIMER_DELAY_SEC\x013\x02REAL_TOPIC\x01T"),
        *("TIMER_DELAY_SEC\x013\x02REAL_QID\x010", "TIMER_DELAY_SEC\x013\x02WAIT\x01a\0"),
        "TIMER_DELAY_SEC\x013\x02a\x01" + "x" * 32_600,
    ],
)
def test_times_that_are_not_plain_are_for_python(rig: Rig, text: str) -> None:
    timer_plan(rig)
    assert rig.serve(send(properties=text))[1] == 0
    assert rig.log.position == rig.log.base


def test_without_a_queue_only_messages_for_a_set_time_are_taken(rig: Rig) -> None:
    timed, other = send(properties="TIMER_DELAY_SEC\x013"), send()
    waiting = timer_plan(rig)
    planned = rig.answer()
    rig.answer = lambda: (None, *planned[1:])
    assert rig.serve(timed, timed)[1] == 2
    assert rig.serve(other, timed)[1] == 0
    assert (len(rig.plans), waiting.end) == (1, 42)
    rig.answer = lambda: planned
    assert rig.serve(timed, other, timed)[1] == 3
    assert (len(rig.plans), waiting.end, rig.queue.end) == (2, 44, 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"queue": None},
        {"most": "1"},
        {"most": 1 << 62},
        {"behind": "text"},
        {"handle": "text"},
        {"more": 1},
    ],
)
def test_an_answer_that_is_no_plan_for_timers_is_an_error(rig: Rig, changes: dict[str, Any]) -> None:
    timer_plan(rig, **changes)
    with pytest.raises((TypeError, ValueError)):
        rig.serve(send())


def test_no_room_for_a_message_that_is_to_wait(rig: Rig) -> None:
    waiting = timer_plan(rig)
    waiting.limit = 0
    assert rig.serve(send(properties="TIMER_DELAY_SEC\x013"))[1] == 0
    assert waiting.requests == [1]


@pytest.mark.parametrize("answer", [17, (), ("queue", 0, None, False), (None, 0, None, False), (1, 2)])
def test_an_answer_that_is_no_plan_is_an_error(rig: Rig, answer: object) -> None:
    rig.answer = lambda: answer
    with pytest.raises((TypeError, SystemError)):
        rig.serve(send())


def test_a_batch_needs_the_plan_of_a_batch(rig: Rig) -> None:
    with pytest.raises(TypeError):
        rig.serve(batch(1))
    rig.answer = lambda: (rig.queue, 0, b"", False)
    with pytest.raises(TypeError):
        rig.serve(send())


def test_what_a_plan_raises_is_raised_and_stored_messages_stay(rig: Rig) -> None:
    def stop() -> object:
        raise Stopped

    assert rig.serve(send())[1] == 1
    rig.answer = stop
    with pytest.raises(Stopped):
        rig.serve(send(), send(sys_flag=1))
    assert rig.serve()[1] == 0
    assert len(rig.records()) == 2


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_what_was_written_is_visible_before_room_is_requested(taken: int) -> None:
    rig = Rig()
    frames = [send(bytes(500), at) for at in range(taken + 1)]
    rig.serve(*frames[:1])
    size = rig.log.position - rig.log.base
    rig = Rig(room=size * taken + size - 1)
    seen: list[int] = []
    rig.making = lambda: seen.append(len(rig.records()))
    assert rig.serve(*frames)[1] == taken
    assert (seen, rig.requests, rig.queue.end) == ([taken], [size], 7 + taken)

    def give() -> None:
        rig.log.limit = rig.log.base + 60_000

    rig.making = give
    assert rig.serve(*frames)[1] == taken + 1


def test_records_behind_the_room_of_the_mapping_are_for_python(rig: Rig) -> None:
    rig.log.limit = rig.log.base + 1_000_000
    assert rig.serve(*[send(bytes(9000), at) for at in range(10)])[1] == 65_536 // 9200


def test_a_log_or_queue_without_memory_is_for_python() -> None:
    rig = Rig()
    rig.log.buffer = None
    assert rig.serve(send())[1] == 0
    rig = Rig()
    rig.queue.buffer = bytearray()
    assert rig.serve(send())[1] == 0
    assert (rig.queue.requests, rig.requests) == ([], [])
    rig = Rig()
    rig.log.base += 1
    assert rig.serve(send())[1] == 0


@pytest.mark.parametrize("refuses", [OSError, ValueError])
def test_what_gives_no_room_is_for_python(rig: Rig, refuses: type[Exception]) -> None:
    def refuse() -> None:
        raise refuses

    rig.log.limit = rig.log.position
    rig.making = refuse
    assert rig.serve(send())[1] == 0
    rig = Rig()
    rig.queue.limit = 20
    rig.queue.extending = refuse
    assert rig.serve(send(), send())[1] == 1
    assert len(rig.records()) == len(rig.queue.entries()) == 1


def test_what_ends_the_process_is_passed_on(rig: Rig) -> None:
    def stop() -> None:
        raise Stopped

    rig.queue.limit, rig.queue.extending = 20, stop
    with pytest.raises(Stopped):
        rig.serve(send(), send())
    rig.queue.limit, rig.log.limit, rig.making = 4000, rig.log.position, stop
    with pytest.raises(Stopped):
        rig.serve(send())


def test_a_queue_gets_room(rig: Rig) -> None:
    rig.queue.limit = 40

    def extend() -> None:
        rig.queue.limit += 40

    rig.queue.extending = extend
    assert rig.serve(*[send()] * 5)[1] == 5
    assert rig.queue.requests == [1, 1]
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    assert rig.serve(batch(3))[1] == 1
    assert rig.serve(batch(3))[1] == 0
    assert rig.queue.requests[2:] == [3, 3]
    assert len(rig.records()) == rig.queue.end - 7 == 8


def test_of_a_batch_all_or_nothing_is_stored(rig: Rig) -> None:
    rig.answer = lambda: (rig.queue, 0, b"tail", True)
    good = [b"a", b"b"]
    for properties in ("DELAY\x011", "a\x01\0", "a\x01" + "x" * 32_764):
        body = batch_body(good) + batch_body([b"bad"], properties)
        frame = send(body, code=BATCH, batch=True)
        assert rig.serve(frame)[1] == 0
    assert rig.serve(send(b"", code=BATCH, batch=True))[1] == 0
    assert rig.serve(send(batch_body(good)[:-1], code=BATCH, batch=True))[1] == 0
    assert (rig.log.position, rig.queue.end) == (rig.log.base, 7)
    rig.log.limit = rig.log.position + 200
    assert rig.serve(batch(3))[1] == 0
    assert rig.log.position == rig.log.base
    assert len(rig.requests) == 1


def test_a_batch_of_too_many_is_for_python() -> None:
    rig = Rig()
    rig.answer = lambda: (rig.queue, 0, b"", True)
    rig.sends.max_body = 1 << 20
    assert rig.serve(send(batch_body([b""] * 4097), code=BATCH, batch=True))[1] == 0
    assert rig.requests == []


@pytest.mark.parametrize(
    "frame",
    [
        send(bytes(10_001)),
        send(properties="DELAY\x011"),
        send(properties="a\x01\0"),
        send(properties="a\x01" + "x" * 32_764),
        send(properties="TRAN_MSG\x01true"),
        encode_frame(Header(code=11, opaque=1, flag=0, version=407, ext=send_ext("T")), b"", 0),
        b"\0\0\0\x10\0\0\0\x08{}      ....",
        send()[:-1],
        b"",
    ],
)
def test_what_is_not_plain_is_for_python(rig: Rig, frame: bytes) -> None:
    answers, taken = rig.sends.serve(SESSION, BORN, NOW, send() + frame)
    assert taken == len(send())
    assert len(rig.records()) == 1
    assert answers


def test_properties_that_are_too_long_whatever_they_are_take_no_memory(rig: Rig) -> None:
    assert rig.serve(send(properties="a\x01" + "標" * 10_000))[1] == 1
    requested = len(rig.plans)
    assert rig.serve(send(properties="a\x01" + "x" * 6 * 32_767, sys_flag=1))[1] == 0
    assert len(rig.plans) == requested


def test_nothing_is_taken_while_it_is_switched_off(rig: Rig) -> None:
    rig.sends.enabled = False
    assert rig.serve(send())[1] == 0
    assert rig.plans == []
    rig.sends.enabled = True
    assert rig.serve(send())[1] == 1


def test_the_time_of_what_was_stored_is_the_logs(rig: Rig) -> None:
    rig.serve(send())
    assert rig.log.timestamp == NOW


def test_nothing_is_stored_with_an_earlier_time_than_pythons_last(rig: Rig) -> None:
    rig.log.timestamp = NOW + 1
    assert rig.serve(send())[1] == 0
    assert rig.sends.enabled
    rig.log.timestamp = NOW
    assert rig.serve(send())[1] == 1


def test_when_the_clock_went_back_nothing_is_stored_in_the_rest_of_the_round(rig: Rig) -> None:
    assert rig.serve(send())[1] == 1
    rig.log.timestamp = NOW - 1
    assert rig.serve(send())[1] == rig.serve(send())[1] == 0
    assert not rig.sends.enabled
    rig.sends.enabled = True
    assert rig.serve(send())[1] == 1


def test_a_slow_group_is_reported_at_once(rig: Rig) -> None:
    rig.sends.slow_ns = -1
    assert rig.serve(send(), send())[1] == 2
    assert len(rig.slow) == 1
    assert rig.slow[0] > 0


def test_the_report_of_a_slow_group_may_raise() -> None:
    def stop(_took: int) -> None:
        raise Stopped

    rig = Rig(slow=stop)
    rig.sends.slow_ns = -1
    with pytest.raises(Stopped):
        rig.serve(send())


def test_answers_to_those_that_wait_for_the_disk_are_kept(rig: Rig) -> None:
    rig.sends.deferred = True
    hurried, patient = send(properties="WAIT\x01false"), send(properties="WAIT\x01TRUE")
    answers, taken = rig.serve(hurried, hurried)
    assert (taken, rig.waiting, answers.count(b'"msgId"')) == (2, [], 2)
    answers, taken = rig.serve(hurried, patient, hurried)
    assert (taken, answers.count(b'"msgId"')) == (3, 2)
    [(session, later, end)] = rig.waiting
    assert (session, end, later.count(b'"msgId"')) == (SESSION, rig.log.position, 1)
    rig.waiting.clear()
    answers, _ = rig.serve(send(properties="", flag=2))
    assert (answers, rig.waiting) == (b"", [(SESSION, b"", rig.log.position)])


@pytest.mark.parametrize("waits", [True, False])
def test_the_plan_decides_whether_a_batch_waits(rig: Rig, waits: bool) -> None:
    rig.sends.deferred = True
    rig.answer = lambda: (rig.queue, 0, b"", waits)
    assert bool(rig.serve(batch(2))[0]) is not waits
    assert len(rig.waiting) == waits


def test_waiting_may_raise() -> None:
    def stop(*_args: object) -> None:
        raise Stopped

    rig = Rig(waiting=stop)
    rig.sends.deferred = True
    with pytest.raises(Stopped):
        rig.serve(send())
    rig.sends.deferred = False
    assert rig.serve(send())[0].count(b'"msgId"') == 1


def test_addresses_of_both_kinds(rig: Rig) -> None:
    long = bytes(range(16)) + b"\0\0\x11\xd7"
    rig.sends.serve(SESSION, long, NOW, send())
    assert rig.records()[0].born_host == ("1:203:405:607:809:a0b:c0d:e0f", 4567)
    with pytest.raises(ValueError, match="8 or 20 bytes"):
        rig.sends.serve(SESSION, b"short", NOW, send())


@pytest.mark.parametrize(
    "changes",
    [
        {"answers": (ANSWERS.parts,)},
        {"answers": (ANSWERS.parts, ANSWERS.binary_parts[1:])},
        {"answers": ((*ANSWERS.parts[:5], "text"), ANSWERS.binary_parts)},
        {"answers": (ANSWERS.parts, b"no tuple")},
        {"answers": b"no tuple"},
        {"store_host": "text"},
        {"keys": object()},
        {"other": 1},
    ],
)
def test_what_it_is_not_made_of(changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Rig(**changes)


def test_it_goes_with_what_it_refers_to() -> None:
    rig = Rig()
    timer_plan(rig)
    rig.serve(send())  # the plan and the callbacks lead back to it
    rig.queue.extending = rig.records  # type: ignore[assignment]  # it is never called
    gone = weakref.ref(rig)
    del rig
    gc.collect()
    assert gone() is None
