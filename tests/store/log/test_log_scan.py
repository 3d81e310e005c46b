"""Finding records by bytes that they hold, from a place of the log on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.store.store import MessageStore
from rocketwire.wire.message import decode_record
from tests.store.support import START, Clock, draft, open_store, remove_log_file, small


def found(store: MessageStore, start: int, needle: bytes = b"needle") -> list[bytes]:
    """Bodies of the records from a place on that hold the bytes."""
    result = []
    at, end = start, store.max_physical_offset
    while at < end:
        scanned = store.scan(at, end, needle)
        assert scanned.next_offset > at
        result += [decode_record(record).body for record in scanned.records]
        at = scanned.next_offset
    return result


@hypothesis_settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(
        st.tuples(st.integers(0, 900), st.sampled_from(["", "needle", "needle needle", "needl"])), max_size=40
    )
)
def test_all_records_that_hold_the_bytes_are_found(tmp_path_factory: object, sizes: list[tuple[int, str]]) -> None:
    root = tmp_path_factory.mktemp("store")  # type: ignore[attr-defined]
    store = open_store(small(root / "store"))
    places = []
    for number, (size, word) in enumerate(sizes):
        body = b"%d-%s-%s" % (number, word.encode(), b"x" * size)
        (place,) = store.append([draft(number, body=body)])
        places.append((place.physical_offset, body))
    for start, _ in places[::7]:
        assert found(store, start) == [body for offset, body in places if offset >= start and b"needle" in body]
    store.close()


def test_bytes_across_two_records_are_in_neither(tmp_path: Path) -> None:
    store = open_store(small(tmp_path / "store"))
    store.append([draft(0, properties=b"a\x01need"), draft(1)])
    assert found(store, 0, b"need") == [b"body-0"]
    assert found(store, 0, b"need\x00\x00\x00") == []


def test_a_search_begins_where_the_log_does(tmp_path: Path) -> None:
    store = open_store(small(tmp_path / "store"))
    for number in range(8):
        store.append([draft(number, body=b"%d needle" % number + bytes(1000))])
    remove_log_file(store)
    assert [body[:1] for body in found(store, 0)] == [b"3", b"4", b"5", b"6", b"7"]
    middle = store.retention.log_start + 5
    assert [body[:1] for body in found(store, middle)] == [b"6", b"7"]  # no record begins there: the next file's do


def test_a_removed_file_is_skipped(tmp_path: Path) -> None:
    store = open_store(small(tmp_path / "store"))
    store.append([draft(0, body=b"needle")])
    assert store.scan(5 * 4096 + 100, 9 * 4096, b"needle") == ([], 6 * 4096)


def test_the_file_to_begin_with_for_a_time(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(small(tmp_path / "store"), clock)
    assert store.file_before(START) == 0
    for number in range(8):
        store.append([draft(number, body=bytes(1000))])
        clock.now += 10
    # Three to a file.
    assert [store.file_before(START + ms) for ms in (-5, 0, 30, 31, 60, 61, 500)] == [0, 0, 0, 4096, 4096, 8192, 8192]
