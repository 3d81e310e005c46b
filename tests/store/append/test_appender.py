"""The bytes that appending writes: records of both versions against the codec, the blank, and batches kept whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import DiskFull, PropertiesTooLong, RecordTooLarge, TopicUnusable
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.queues import MAX_NAME_BYTES
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK, MAGIC_V1, MAGIC_V2
from rocketwire.wire.hosts import decode_host, encode_host
from rocketwire.wire.message import MessageRecord, decode_record, encode_record
from tests.store.crash_disk import CrashDisk
from tests.store.support import HOST, START, Clock, bodies, draft, kill, open_store, small

FILE = 4096
LONG = "%RETRY%" + "g" * 200

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
HOSTS = st.sampled_from([encode_host("10.0.0.1", 1), encode_host("2001:db8::1", 65535)])
OFFSETS_AND_HOSTS = ~(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6 | SysFlag.TRANSACTION_PREPARED)
TOPICS = st.integers(1, MAX_NAME_BYTES).map("t".ljust) | st.sampled_from(["ä" * 63, "ä" * 64])


@hypothesis_settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_appended_records_are_the_codecs(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    topic = data.draw(TOPICS).replace(" ", "x")
    store_host = data.draw(HOSTS)
    drafts = [
        Draft(
            topic=topic,
            queue_id=3,
            body=data.draw(st.binary(max_size=300)),
            properties=data.draw(st.binary(max_size=300)),
            flag=data.draw(INT32),
            sys_flag=data.draw(st.integers(0, (1 << 31) - 1)) & OFFSETS_AND_HOSTS,
            born_timestamp=data.draw(INT64),
            born_host=data.draw(HOSTS),
            reconsume_times=data.draw(INT32),
            prepared_offset=data.draw(INT64),
        )
        for _ in range(3)
    ]
    settings = small(tmp_path_factory.mktemp("records"), message_index_enable=False)
    store = MessageStore.open(settings, clock=Clock(), store_host=store_host)
    store._queues.create(topic, 3, longest=MAX_NAME_BYTES)
    appended = store.append(drafts)
    assert len(appended) == 3
    for number, (each, (offset, size, queue_offset)) in enumerate(zip(drafts, appended, strict=True)):
        record = store.record_at(offset, size)
        assert record is not None
        assert queue_offset == number
        assert bytes(record) == encode_record(
            MessageRecord(
                magic=MAGIC_V1 if len(topic.encode()) <= 127 else MAGIC_V2,
                topic=topic,
                queue_id=3,
                body=bytes(each.body),
                properties=each.properties,
                flag=each.flag,
                queue_offset=queue_offset,
                physical_offset=offset,
                sys_flag=each.sys_flag,
                born_timestamp=each.born_timestamp,
                born_host=decode_host(each.born_host),
                store_timestamp=START,
                store_host=decode_host(store_host),
                reconsume_times=each.reconsume_times,
                prepared_transaction_offset=each.prepared_offset,
            )
        )
    kill(store)


@given(size=st.integers(8, (1 << 31) - 1))
def test_the_blank_is_the_declarations(size: int) -> None:
    built = END_OF_FILE_BLANK.build({"size": size, "magic": BLANK_MAGIC})
    assert built == size.to_bytes(4) + (0xCBD43194).to_bytes(4)
    assert END_OF_FILE_BLANK.parse(built).size == size


def store_of_5x(root: Path) -> MessageStore:
    """A store that holds a topic too long for version 1, as a broker of 5.x leaves it."""
    open_store(small(root)).close()
    (root / "abort").touch()
    record = encode_record(
        MessageRecord(
            topic=LONG, queue_id=0, body=b"theirs", magic=MAGIC_V2, store_timestamp=START, properties=b"A\x01b"
        )
    )
    (root / "commitlog" / f"{0:020d}").write_bytes(record.ljust(FILE, b"\0"))
    return open_store(small(root))


def test_a_long_topic_of_5x_continues_in_its_version(tmp_path: Path) -> None:
    store = store_of_5x(tmp_path)
    first, short, other = store.append([draft(1, topic=LONG), draft(2), draft(3, topic=LONG, queue_id=1)])
    assert [each.queue_offset for each in (first, short, other)] == [1, 0, 0]
    kill(store)
    store = open_store(small(tmp_path))
    assert bodies(store, LONG) == [b"theirs", b"body-1"]
    assert bodies(store, LONG, 1) == [b"body-3"]
    for each, magic in ((first, MAGIC_V2), (short, MAGIC_V1), (other, MAGIC_V2)):
        record = store.record_at(each.physical_offset, each.size)
        assert record is not None
        assert decode_record(record).magic == magic
    assert len(store.query(LONG, "k3", 32, 0, START + 1000).records) == 1


def test_another_long_topic_is_refused_in_a_store_of_5x_too(tmp_path: Path) -> None:
    store = store_of_5x(tmp_path)
    for topic in ("t" * 128, LONG + "x" * 49):
        assert store.append([draft(1, topic=topic)]) == []
        assert isinstance(store.append_error, TopicUnusable)


_GROUP, _TOPIC = "g" * 90, "t" * 90
#: As 5.5.0 stored a popped message that was not acknowledged, at physical offset 998.
RECORD_OF_5_5_0 = (
    bytes.fromhex("0000020d daa320ab 5ba80bb2 00000000 00000007 0000000000000000 00000000000003e6 00000000")
    + bytes.fromhex("0000018bcfe56800 7f00000100006d03 000001a1fe77873d 7f00000100006d03 00000001 0000000000000000")
    + b"\0\0\0\x04body"
    + f"\0\xbc%RETRY%{_GROUP}_{_TOPIC}".encode("latin-1")
    + f"\0\xf1ORIGIN_GROUP\x01{_GROUP}\x02AAA\x01b\x02TRACE_ON\x01true\x02MSG_REGION\x01DefaultRegion".encode("latin-1")
    + b"\x02UNIQ_KEY\x01C0000202605B4E0E2F2A6A0F92C20000\x02CLUSTER\x01DefaultCluster"
    + b"\x021ST_POP_TIME\x011795270605600\x02"
)


def test_a_record_of_version_2_is_that_of_5_5_0(tmp_path: Path) -> None:
    message = decode_record(RECORD_OF_5_5_0)
    host = encode_host(*message.store_host)
    clock = Clock(message.store_timestamp)
    store = MessageStore.open(small(tmp_path), clock=clock, store_host=host)
    size = store.append([draft(0, body=bytes(100))])[0].size
    store.append([draft(0, body=bytes(100 + 998 - 2 * size))])
    store._queues.create(message.topic, message.queue_id, longest=MAX_NAME_BYTES)
    values: dict[str, Any] = {
        "body": message.body,
        "properties": message.properties,
        "flag": message.flag,
        "born_host": host,
    }
    values |= {"born_timestamp": message.born_timestamp, "reconsume_times": message.reconsume_times}
    (appended,) = store.append([draft(topic=message.topic, **values)])
    record = store.record_at(*appended[:2])
    assert record is not None
    assert bytes(record) == RECORD_OF_5_5_0
    store.close()


def batch(first: int, count: int, body_size: int = 100) -> list[Draft]:
    drafts = [draft(n, body=bytes([n % 256]) * body_size) for n in range(first, first + count)]
    drafts[0].group_size = count
    return drafts


def test_entries_are_written_after_their_records(
    tmp_path: Path, store: MessageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be killed between the two."""
    store._appender._writers = store._appender._writers[-1:]
    write = CommitLog.write
    ends: list[list[int]] = []

    def watched(self: CommitLog, data: bytes) -> None:
        entries = [path.read_bytes() for path in sorted((tmp_path / "consumequeue").rglob("0" * 20))]
        places = [int.from_bytes(each[at : at + 8]) for each in entries for at in range(0, len(each), 20)]
        assert max((place for place in places if place < 1 << 40), default=0) <= self.position  # none is far ahead
        ends.append([queue.end for queue in store._queues])
        write(self, data)

    monkeypatch.setattr(CommitLog, "write", watched)
    store.append([draft(number, queue_id=number % 2) for number in range(4)])
    store.append([draft(number, queue_id=number % 2) for number in range(4, 8)])
    assert ends[0] == [0, 0]
    assert ends[-1] == [2, 2]
    assert [store.max_offset("T", queue_id) for queue_id in (0, 1)] == [4, 4]


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_a_batch_stands_in_one_file(tmp_path: Path, spare: int) -> None:
    store = open_store(small(tmp_path))
    size = store.append(batch(1000, 1))[0].size
    room = FILE - 8 - size - 5 * size - spare
    filler = store.append([draft(1000, body=bytes(100 + room - size))])[0]
    assert filler.physical_offset + filler.size == FILE - 8 - 5 * size - spare
    appended = store.append([*batch(1001, 5), draft(1006)])
    fits = spare >= 0
    start = filler.physical_offset + filler.size if fits else FILE
    assert [each.physical_offset for each in appended[:5]] == [start + n * size for n in range(5)]
    assert appended[5].physical_offset == (FILE if fits else FILE + 5 * size)
    left = 8 + spare + (0 if fits else 5 * size)
    assert END_OF_FILE_BLANK.parse((tmp_path / "commitlog" / f"{0:020d}").read_bytes()[-left:]).size == left
    kill(store)
    store = open_store(small(tmp_path))
    assert store.max_offset("T", 0) == 8


def test_single_messages_and_batches_of_one_group_keep_their_order(store: MessageStore) -> None:
    group = [draft(0), *batch(1, 9), draft(10), *batch(11, 9), *batch(20, 9), draft(29)]
    appended = store.append(group)
    assert [each.queue_offset for each in appended] == list(range(30))
    for first in (1, 11, 20):
        places = appended[first : first + 9]
        assert len({each.physical_offset // FILE for each in places}) == 1
        assert all(before.physical_offset + before.size == after.physical_offset for before, after in pairwise(places))
    assert bodies(store) == [bytes(each.body) for each in group]


def test_a_batch_larger_than_a_file_is_refused_before_anything_is_written(store: MessageStore) -> None:
    appended = store.append([draft(0), *batch(1, 40), draft(41)])
    assert len(appended) == 1
    assert isinstance(store.append_error, RecordTooLarge)
    assert store.max_physical_offset == appended[0].size
    assert bodies(store) == [b"body-0"]


@pytest.mark.parametrize("loop", [0, -1], ids=["first", "twin"])
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("kind", ["single", "batch", "parted"])
def test_properties_that_fit_no_record_are_refused(tmp_path: Path, loop: int, at: int, kind: str) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20))
    store._appender._writers = [store._appender._writers[loop], store._appender._writers[-1]]
    long, most = b"a\1" + bytes(32766), b"a\1" + bytes(32765)
    assert len(store.append([draft(0, properties=most)])) == 1
    if kind == "single":
        group = [draft(number, properties=long if number == at else b"") for number in (1, 2, 3)]
        stored = at - 1
    else:
        group = parted(1, "ATB") if kind == "parted" else batch(1, 3)
        group[at - 1].properties = long
        stored = 0
    before = store.max_physical_offset
    appended = store.append([*group, draft(4)])
    assert len(appended) == stored
    assert isinstance(store.append_error, PropertiesTooLong)
    assert store.max_physical_offset == before + sum(each.size for each in appended)
    assert len(store.append([draft(5)])) == 1
    assert bodies(store)[-1] == b"body-5"


def test_a_batch_that_finds_no_room_can_be_tried_again(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=disk)
    store.append(batch(0, 5))
    disk.room = 0
    disk.files_left = 0
    store.append(batch(5, 5))
    before = store.max_offset("T", 0)
    refused = batch(10, 9)
    assert store.append(refused) == []
    assert store.max_offset("T", 0) == before
    disk.room = disk.files_left = None
    assert len(store.append(refused)) == 9


@pytest.mark.parametrize("loop", [0, -1], ids=["first", "twin"])
def test_a_batch_that_finds_no_room_in_its_queue_is_refused_whole(tmp_path: Path, loop: int) -> None:
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20 * 2000), files=disk)
    store._appender._writers = [store._appender._writers[loop]]
    window = 4 * 4096 // 20
    store.append([draft(number) for number in range(window - 2)])
    end = store.max_physical_offset
    disk.room = 0
    assert store.append(batch(window - 2, 4)) == []
    assert isinstance(store.append_error, DiskFull)
    assert (store.max_offset("T", 0), store.max_physical_offset) == (window - 2, end)
    assert len(store.append(batch(window - 2, 2))) == 2
    disk.room = None
    assert len(store.append(batch(window, 4))) == 4


@pytest.mark.parametrize("host", ["10.0.0.1", "2001:db8::1"])
def test_a_batch_is_measured_with_its_hosts(tmp_path: Path, host: str) -> None:
    store = MessageStore.open(small(tmp_path), clock=Clock(), store_host=HOST)
    born = encode_host(host, 1)
    size = store.append([draft(1000, body=bytes(100), born_host=born)])[0].size
    store.append([draft(1000, body=bytes(100 + FILE - 8 - 7 * size), born_host=born)])
    drafts = batch(1001, 5)
    for each in drafts:
        each.born_host = born
    assert [each.physical_offset for each in store.append(drafts)] == [FILE - 8 - (5 - n) * size for n in range(5)]
    store.close()


def parted(number: int, topics: str, **changes: Any) -> list[Draft]:
    """Drafts for different queues that belong together."""
    drafts = [draft(number + at, topic=topic, **changes) for at, topic in enumerate(topics)]
    drafts[0].group_size = len(drafts)
    return drafts


@pytest.mark.parametrize("host", ["10.0.0.1", "2001:db8::1"])
def test_what_belongs_together_stands_in_one_file_whatever_its_queues(store: MessageStore, host: str) -> None:
    for number in range(60):
        drafts = parted(number * 2, "AB", body=bytes(number), born_host=encode_host(host, 1))
        first, second = store.append(drafts)
        assert first.physical_offset // FILE == second.physical_offset // FILE
        assert first.physical_offset + first.size == second.physical_offset
        assert (first.queue_offset, second.queue_offset) == (number, number)
    assert len(bodies(store, "A")) == len(bodies(store, "B")) == 60


@pytest.mark.parametrize("topics", ["AT", "TA"])
def test_what_belongs_together_is_taken_whole_or_not_at_all(tmp_path: Path, topics: str) -> None:
    """One of the queues has room, and the other one's file cannot be made."""
    disk = CrashDisk(tmp_path)
    store = open_store(small(tmp_path), files=disk)
    store.append([draft(0)])
    disk.room = disk.files_left = 0
    before = store.max_physical_offset
    refused = parted(1, topics)
    assert store.append(refused) == []
    assert (store.max_physical_offset, store.max_offset("T", 0), store.max_offset("A", 0)) == (before, 1, 0)
    disk.room = disk.files_left = None
    assert len(store.append(refused)) == 2
    assert (bodies(store), len(bodies(store, "A"))) == ([b"body-0", b"body-%d" % (1 + topics.index("T"))], 1)


def test_the_newest_record_is_the_one_that_ends_the_log(store: MessageStore) -> None:
    assert store.newest_record() is None
    store.append([draft(0, topic="A"), draft(1, topic="B"), draft(2, topic="A")])
    record = store.newest_record()
    assert record is not None
    assert decode_record(record).body == b"body-2"
    store.append([draft(3, topic="B", sys_flag=SysFlag.TRANSACTION_PREPARED)])
    assert store.newest_record() is None
