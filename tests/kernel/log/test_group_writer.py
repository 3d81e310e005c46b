"""The kernel's writer of drafts does what its twin does: the same files, results, keys and refusals."""

from __future__ import annotations

import shutil
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire._kernel import GroupWriter
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.append.group_writer import GroupWriter as Twin
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.names import SCHEDULE_TOPIC
from tests.store.crash_disk import CrashDisk
from tests.store.support import HOST, START, Clock, draft, kill, open_store, small

V4, V6 = encode_host("10.0.0.1", 1), encode_host("2001:db8::1", 65535)
FOR_CONSUMERS = (SysFlag.TRANSACTION_NOT, SysFlag.TRANSACTION_COMMIT)
int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
key = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
hosts = st.sampled_from([V4, V6])
bodies = st.binary(max_size=300)


def test_the_store_appends_by_the_kernel_first() -> None:
    assert native.kernel is not None
    assert native.kernel.GroupWriter is GroupWriter
    with pytest.raises(TypeError):
        GroupWriter(None, {}, None, None, HOST, Draft, AppendResult, None)  # type: ignore[arg-type]  # what the test is about


class Outcome(NamedTuple):
    """What a store did with some groups."""

    results: list[list[AppendResult]]
    errors: list[str | None]
    files: dict[str, bytes]
    ends: dict[tuple[str, int], tuple[int, int, int]]
    keys: list[tuple[int, int, int]]
    arrivals: list[set[tuple[str, int]]]
    last_timestamp: int


def files_of(root: Path) -> dict[str, bytes]:
    found = {}
    for folder in ("commitlog", "consumequeue"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file():
                found[str(path.relative_to(root))] = path.read_bytes()
    return found


def taken_keys(store: MessageStore) -> Iterator[tuple[int, int, int]]:
    """Hash, physical offset and timestamp of each key on its way to the index."""
    end = 0
    assert store._index is not None
    while (start := store._index.keys.start) is not None:
        taken = store._index.keys.take(max(start, end), 1 << 20)
        assert taken is not None
        hashes, offsets, timestamps, end, *_ = taken
        yield from zip(hashes, offsets, timestamps, strict=True)


def run(
    root: Path, groups: list[list[Draft]], store_host: bytes, room: int | None, files_left: int | None, *, kernel: bool
) -> Outcome:
    disk = CrashDisk(root)
    store = MessageStore.open(small(root), clock=Clock(), store_host=store_host, files=disk)
    if not kernel:
        store._appender._writers = [store._appender._writers[-1].__self__.append]  # type: ignore[attr-defined]  # its own
    arrivals: list[set[tuple[str, int]]] = []
    store.arrivals.subscribe(lambda found: arrivals.append(set(found)))
    results, errors = [], []
    disk.room, disk.files_left = room, files_left
    for group in groups:
        results.append(store.append(group))
        error = store.append_error
        errors.append(None if error is None else f"{type(error).__name__} {error}".replace(str(root), ""))
    ends = {each.key: (each.end, each.position, each.limit) for each in store._queues}
    keys = list(taken_keys(store))
    last = store.last_append_timestamp
    kill(store)
    return Outcome(results, errors, files_of(root), ends, keys, arrivals, last)


def check_same(
    root: Path,
    groups: list[list[Draft]],
    store_host: bytes = HOST,
    room: int | None = None,
    files_left: int | None = None,
) -> Outcome:
    outcomes = []
    for kernel in (False, True):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        outcomes.append(run(root, groups, store_host, room, files_left, kernel=kernel))
    twin, ours = outcomes
    assert ours == twin
    assert all(type(each) is AppendResult for results in ours.results for each in results)
    return ours


@st.composite
def drafts(draw: st.DrawFn, topic: str, queue_id: int) -> Draft:
    body = draw(bodies)
    born_host = draw(hosts)
    return Draft(
        topic=topic,
        queue_id=queue_id,
        body=memoryview(b"<" + body + b">")[1:-1] if draw(st.booleans()) else body,
        properties=draw(st.binary(max_size=100)),
        flag=draw(int32),
        sys_flag=draw(st.integers(0, (1 << 31) - 1)) & ~int(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6),
        born_timestamp=draw(int64),
        born_host=born_host,
        reconsume_times=draw(int32),
        prepared_offset=draw(int64),
        tags_code=draw(int64),
        unique_key=draw(key),
        keys=draw(key),
    )


topics = st.sampled_from(["A", "B", "ä" * 60, SCHEDULE_TOPIC])
queue_ids = st.integers(0, 2)


@st.composite
def units(draw: st.DrawFn) -> list[Draft]:
    """A draft, a batch, or some for different queues that belong together."""
    kind = draw(st.sampled_from(["single", "single", "batch", "parted"]))
    if kind == "single":
        return [draw(drafts(draw(topics), draw(queue_ids)))]
    if kind == "batch":
        topic, queue_id, host = draw(topics), draw(queue_ids), draw(hosts)
        flag = draw(st.sampled_from(FOR_CONSUMERS))
        found = [draw(drafts(topic, queue_id)) for _ in range(draw(st.integers(2, 5)))]
        for each in found:
            each.sys_flag, each.born_host = int(flag), host
    else:
        keys = draw(st.lists(st.tuples(topics, queue_ids), min_size=2, max_size=3, unique=True))
        found = [draw(drafts(*key)) for key in keys]
    found[0].group_size = len(found)
    return found


groups = st.lists(st.lists(units(), max_size=6).map(lambda found: [*chain.from_iterable(found)]), max_size=5)


@pytest.mark.slow
@given(groups=groups, store_host=hosts)
def test_groups_are_stored_as_the_twin_stores_them(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Draft]], store_host: bytes
) -> None:
    ours = check_same(tmp_path_factory.mktemp("append") / "store", groups, store_host)
    assert [len(results) for results in ours.results] == [len(group) for group in groups]


@pytest.mark.slow
@given(groups=groups, room=st.none() | st.integers(0, 12) | st.just(40), files_left=st.none() | st.integers(0, 8))
def test_a_full_disk_refuses_what_it_refuses_the_twin(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Draft]], room: int | None, files_left: int | None
) -> None:
    check_same(
        tmp_path_factory.mktemp("append") / "store",
        groups,
        room=None if room is None else room * 4096,
        files_left=files_left,
    )


def test_wherever_the_disk_is_full_the_same_is_refused(tmp_path: Path) -> None:
    found = [[draft(n, topic="AB"[n % 2], body=bytes(200)) for n in range(first, first + 9)] for first in (0, 9, 18)]
    found[1][0].group_size = 9
    found[2][3].group_size = 2
    refused: Counter[str | None] = Counter()
    for room in range(12):
        refused.update(check_same(tmp_path / "store", found, room=room * 4096).errors)
    assert len(refused) > 3
    assert refused[None] > 3


def test_many_messages_of_few_queues(tmp_path: Path) -> None:
    """Queue files of 16 entries and log files of 4 KiB end in the middle of groups."""
    found = [[draft(n, queue_id=n % 2) for n in range(first, first + 50)] for first in range(0, 500, 50)]
    ours = check_same(tmp_path / "store", found)
    assert sum(map(len, ours.results)) == 500
    assert len(ours.files) > 40
    assert ours.last_timestamp == START


@pytest.mark.parametrize(
    "changes",
    [
        {"flag": 1 << 31},
        {"queue_id": 1 << 31},
        {"born_timestamp": 1 << 63},
        {"tags_code": 1 << 63},
        {"flag": "1"},
        {"body": None},
        {"born_host": None},
        {"body": memoryview(b"b.o.d.y.")[::2]},
        {"properties": bytes(1 << 15)},
    ],
)
def test_what_fits_no_record_is_the_twins_and_what_comes_before_it_is_stored(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    store = open_store(small(tmp_path / "store"))
    try:
        store.append([draft(0), draft(1, **changes), draft(2)])
    except (struct.error, TypeError, BufferError):
        assert store.max_offset("T", 0) == 1
    else:
        assert store.append_error is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"unique_key": "half \ud83d"},
        {"keys": "half \ud83d"},
        {"body": memoryview(struct.pack("4h", 1, 2, 3, 4)).cast("B").cast("h").cast("B")},
    ],
)
def test_what_the_kernel_leaves_to_the_twin_is_stored_nevertheless(tmp_path: Path, changes: dict[str, Any]) -> None:
    group = [draft(0), draft(1, **changes), draft(2)]
    ours = check_same(tmp_path / "store", [group])
    assert len(ours.results[0]) == 3


def test_a_flag_that_is_wrong_about_a_host_is_the_twins(tmp_path: Path) -> None:
    check_same(tmp_path / "store", [[draft(0), draft(1, sys_flag=int(SysFlag.BORN_HOST_V6)), draft(2)]])


def test_drafts_that_are_no_list_are_the_twins(store: MessageStore) -> None:
    assert len(store.append((draft(0), draft(1)))) == 2


def test_a_batch_of_too_few_is_the_twins(tmp_path: Path) -> None:
    group = [draft(0), draft(1), draft(2)]
    group[1].group_size = 5
    assert len(check_same(tmp_path / "store", [group]).results[0]) == 3


class Spy:
    """A draft that reads the log when its topic is read."""

    def __init__(self, original: Draft, look: Callable[[], None]) -> None:
        self._original = original
        self._look = look

    @property
    def topic(self) -> str:
        self._look()
        return self._original.topic


for _name in Draft.__struct_fields__[1:]:
    setattr(Spy, _name, property(attrgetter(f"_original.{_name}")))


def test_a_group_becomes_visible_by_its_first_size_and_its_entries_come_last(
    tmp_path: Path, store: MessageStore
) -> None:
    log, table = store._log, store._queues
    store.append([draft(0)])
    start = log.position
    seen: list[tuple[bytes, bytes, bytes, int]] = []

    def look() -> None:
        content = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()[start:]
        queue = (tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}").read_bytes()
        seen.append((content[:4], content[4:8], queue[20:40], log.position))

    twin = Twin(log, table, None, HOST)
    loop = GroupWriter(log, table.by_key, table.create, None, HOST, Spy, AppendResult, twin.prepare)
    results: list[AppendResult] = []
    touched: set[ConsumeQueue] = set()
    group: list[Any] = [Spy(draft(n), look) for n in (1, 2, 3)]
    loop.append(group, results, touched, START)
    nothing, magic = bytes(4), bytes.fromhex("daa320a7")
    assert seen == [(nothing, nothing, bytes(20), start), *[(nothing, magic, bytes(20), start)] * 2]
    look()
    size, _, entry, position = seen[-1]
    assert int.from_bytes(size) == results[0].size
    assert struct.unpack(">qiq", entry)[:2] == results[0][:2]
    assert position == results[-1].physical_offset + results[-1].size
    assert touched == {table.by_key["T", 0]}


@pytest.mark.parametrize("loop", [0, 1], ids=["kernel", "twin"])
def test_python_finds_records_and_entries_visible_whenever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loop: int
) -> None:
    """Room for an entry may park another queue, so none may have entries that are not written."""
    requested: list[str] = []

    def check(name: str) -> None:
        requested.append(name)
        for queue in store._queues:
            if queue.end:
                offset, size, _ = queue.entry(queue.end - 1)
                assert offset + size <= store._log.position
        counted = sum(queue.end for queue in store._queues)
        assert counted == len(results)

    extend, make_room = ConsumeQueue.extend, CommitLog.make_room

    def checked_extend(self: ConsumeQueue, entries: int = 1) -> None:
        check("extend")
        extend(self, entries)

    def checked_room(self: CommitLog, size: int) -> None:
        check("room")
        make_room(self, size)

    results: list[AppendResult] = []
    monkeypatch.setattr(ConsumeQueue, "extend", checked_extend)
    monkeypatch.setattr(CommitLog, "make_room", checked_room)
    store = open_store(small(tmp_path))
    group = [draft(n, queue_id=n % 3) for n in range(120)]
    store._appender._writers[loop](group, results, set(), START)
    assert len(results) == 120
    assert (requested.count("extend"), requested.count("room") > 3) == (9, True)


def test_without_a_mapping_all_is_the_twins(store: MessageStore) -> None:
    """Files may be no memory: such a buffer is kept, but nothing is written through it."""
    store.append([draft(0)])
    results: list[AppendResult] = []
    mapping, store._log.buffer = store._log.buffer, object()  # type: ignore[assignment]  # what the test is about
    store._appender._writers[0]([draft(1)], results, set(), START)
    assert results == []
    store._log.buffer = mapping
