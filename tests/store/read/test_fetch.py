"""Which messages a reader gets and where it continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.read.fetch import FetchStatus
from rocketwire.store.store import MessageStore
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import decode_record
from tests.store.support import draft, open_store, remove_log_file, small


def test_adjacent_records_come_in_one_view(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(n) for n in range(10)])
    fetched = store.get("T", 0, 2, 5)
    assert fetched.status is FetchStatus.FOUND
    assert (fetched.count, fetched.next_offset, len(fetched.chunks)) == (5, 7, 1)
    assert len(fetched.chunks[0]) == fetched.size
    assert (fetched.min_offset, fetched.max_offset) == (0, 10)
    assert not fetched.is_far_behind


def test_records_between_others_are_read_singly(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(n, queue_id=n // 2 % 2) for n in range(12)])
    fetched = store.get("T", 1, 0, 32)
    assert (fetched.count, fetched.next_offset) == (6, 6)
    assert len(fetched.chunks) == 3
    assert [decode_record(chunk).body for chunk in fetched.chunks] == [b"body-2", b"body-6", b"body-10"]


def test_records_of_two_files_are_not_one_view(store: MessageStore) -> None:
    store.append([draft(n) for n in range(32)])
    offset = 0
    while (fetched := store.get("T", 0, offset, 32)).status is FetchStatus.FOUND:
        for chunk in fetched.chunks:
            assert len(chunk) < 4096
        offset = fetched.next_offset
    assert offset == 32


@pytest.mark.parametrize(
    ("offset", "status", "following"),
    [
        (-5, FetchStatus.OFFSET_TOO_SMALL, 0),
        (3, FetchStatus.OFFSET_OVERFLOW_ONE, 3),
        (4, FetchStatus.OFFSET_OVERFLOW_BADLY, 3),
        (2, FetchStatus.FOUND, 3),
    ],
)
def test_offsets_outside_the_queue(store: MessageStore, offset: int, status: FetchStatus, following: int) -> None:
    store.append([draft(n) for n in range(3)])
    fetched = store.get("T", 0, offset, 32)
    assert (fetched.status, fetched.next_offset) == (status, following)
    assert (fetched.min_offset, fetched.max_offset) == (0, 3)


@pytest.mark.parametrize("offset", [0, 5, -1])
def test_an_unknown_queue_has_no_message(store: MessageStore, offset: int) -> None:
    fetched = store.get("none", 0, offset, 32)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.NO_MESSAGE_IN_QUEUE, 0)
    assert (fetched.chunks, fetched.count, fetched.size) == ([], 0, 0)


def test_counts_and_bytes_are_limited_but_one_message_always_comes(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16, consume_queue_file_size=2000))
    size = store.append([draft(100 + n) for n in range(60)])[0].size
    assert store.get("T", 0, 0, 0).count == 1
    assert store.get("T", 0, 0, 100).count == 32
    assert store.get("T", 0, 0, 32, 1).count == 1
    assert store.get("T", 0, 0, 32, 3 * size).count == 3
    assert store.get("T", 0, 0, 32, 4 * size - 1).count == 3


def test_messages_far_behind_come_in_smaller_answers(tmp_path: Path) -> None:
    sizes = {"commit_log_file_size": 1 << 16, "consume_queue_file_size": 2000}
    store = open_store(small(tmp_path, access_message_in_memory_max_ratio=0, **sizes))
    store.append([draft(n) for n in range(40)])
    fetched = store.get("T", 0, 0, 32)
    assert fetched.count == 8
    assert fetched.is_far_behind
    assert len(fetched.chunks) == 1


def test_a_filter_continues_behind_what_it_scanned(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16, consume_queue_file_size=20 * 100))
    store.append([draft(n) for n in range(90)])
    tag = string_hash("Tag1")
    fetched = store.get("T", 0, 0, 4, None, lambda code: code == tag)
    assert [decode_record(chunk).body for chunk in fetched.chunks] == [b"body-1", b"body-4", b"body-7", b"body-10"]
    # The scan stops at the first entry that is too many, whatever its tag.
    assert fetched.next_offset == 11
    nothing = store.get("T", 0, 5, 4, None, lambda code: code == 1)
    assert (nothing.status, nothing.next_offset) == (FetchStatus.NO_MATCHED_MESSAGE, 90)


@pytest.mark.parametrize(
    ("tags_code", "count"), [(-(1 << 31), 0), (-(1 << 31) - 1, 1), (-(1 << 63), 1), (7, 0), (1 << 40, 0)]
)
def test_a_filter_lets_an_address_in_the_extension_pass(store: MessageStore, tags_code: int, count: int) -> None:
    store.append([draft(0, tags_code=tags_code)])
    fetched = store.get("T", 0, 0, 32, accept=lambda _: False)
    assert (fetched.count, fetched.next_offset) == (count, 1)


def test_a_filter_reads_800_entries_and_no_further_than_a_file(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 18, consume_queue_file_size=20 * 900))
    store.append([draft(n, properties=b"", body=b"") for n in range(1000)])
    never = store.get("T", 0, 0, 32, None, lambda code: False)
    assert (never.status, never.next_offset) == (FetchStatus.NO_MATCHED_MESSAGE, 800)
    assert store.get("T", 0, 850, 32, None, lambda code: False).next_offset == 900
    assert store.get("T", 0, 900, 32, None, lambda code: False).next_offset == 1000


def test_messages_whose_file_is_removed_are_skipped(store: MessageStore) -> None:
    places = [each.physical_offset for each in store.append([draft(n, body=bytes(400)) for n in range(16)])]
    remove_log_file(store)
    fetched = store.get("T", 0, 2, 1)
    first = next(n for n, place in enumerate(places) if place >= 4096)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.FOUND, first + 1)
    assert decode_record(fetched.chunks[0]).queue_offset == first


def test_without_messages_the_answer_is_was_removing(store: MessageStore) -> None:
    store.append([draft(n) for n in range(16)])
    assert store.max_physical_offset < 4096
    store.append([draft(n, topic="Other", body=bytes(400)) for n in range(16)])
    remove_log_file(store)
    fetched = store.get("T", 0, 2, 1)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.MESSAGE_WAS_REMOVING, 16)


def test_a_removed_entry_file_sends_the_reader_to_the_next(store: MessageStore) -> None:
    store.append([draft(n) for n in range(40)])
    store._queues.by_key["T", 0]._segments.remove_first()
    fetched = store.get("T", 0, 3, 32)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.OFFSET_FOUND_NULL, 16)


def test_entries_out_of_order_are_read_singly(store: MessageStore) -> None:
    places = store.append([draft(n) for n in range(4)])
    queue = store._queues.by_key["T", 0]
    queue.put(places[1].physical_offset, places[1].size, 0)
    queue.put(places[0].physical_offset, places[0].size, 0)
    queue.put(places[3].physical_offset, places[3].size, 0)
    fetched = store.get("T", 0, 4, 32)
    assert [decode_record(chunk).body for chunk in fetched.chunks] == [b"body-1", b"body-0", b"body-3"]


def test_messages_are_chosen_by_their_properties(store: MessageStore) -> None:
    store.append([draft(n) for n in range(32)])
    requested: list[bytes] = []

    def matches(properties: bytes) -> bool:
        requested.append(properties)
        return properties.endswith(b"Tag1")

    fetched = store.get("T", 0, 0, 3, matches=matches)
    assert fetched.status is FetchStatus.FOUND
    assert (fetched.count, fetched.next_offset, len(fetched.chunks)) == (3, 8, 3)
    assert [decode_record(chunk).body for chunk in fetched.chunks] == [b"body-1", b"body-4", b"body-7"]
    assert requested == [draft(n).properties for n in range(8)]
    assert fetched.size == sum(map(len, fetched.chunks))


def test_the_tag_decides_before_the_properties(store: MessageStore) -> None:
    store.append([draft(n) for n in range(9)])
    requested: list[bytes] = []

    def matches(properties: bytes) -> bool:
        requested.append(properties)
        return False

    accept = {string_hash("Tag2")}.__contains__
    fetched = store.get("T", 0, 0, 32, accept=accept, matches=matches)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.NO_MATCHED_MESSAGE, 9)
    assert requested == [draft(n).properties for n in (2, 5, 8)]


def test_one_call_reads_a_bounded_number_of_messages(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20 * 4096))
    store.append([draft(n) for n in range(2000)])
    fetched = store.get("T", 0, 0, 32, matches=lambda _: False)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.NO_MATCHED_MESSAGE, 800)


@pytest.mark.parametrize("log_file_size", [1 << 20, 4096])
def test_one_call_goes_through_a_bounded_amount_of_property_text(tmp_path: Path, log_file_size: int) -> None:
    """In one file or over several; each message counts 64 bytes besides."""
    store = open_store(small(tmp_path, commit_log_file_size=log_file_size, consume_queue_file_size=20 * 4096))
    store.append([draft(n, properties=b"x" * 36) for n in range(100)])

    def following(most_text: int, offset: int = 80) -> int:
        fetched = store.get("T", 0, offset, 32, matches=lambda _: False, most_text=most_text)
        assert fetched.status is FetchStatus.NO_MATCHED_MESSAGE
        return fetched.next_offset

    assert [following(most_text) for most_text in (0, 99, 100, 999, 1000)] == [81, 81, 82, 90, 91]
    assert following(100_000) == 100
    fetched = store.get("T", 0, 80, 32, matches=lambda _: True, most_text=500)
    assert (fetched.status, fetched.count, fetched.next_offset) == (FetchStatus.FOUND, 6, 86)


@pytest.mark.parametrize("log_file_size", [1 << 20, 4096])
def test_chosen_messages_side_by_side_come_in_one_view(tmp_path: Path, log_file_size: int) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=log_file_size, consume_queue_file_size=20 * 4096))
    store.append([draft(n) for n in range(100)])
    taken: list[bytes] = []
    offset = 0
    while offset < 100:
        fetched = store.get("T", 0, offset, 10, matches=lambda text: not text.endswith(b"Tag2"))
        assert len(fetched.chunks) <= 7
        data = b"".join(fetched.chunks)
        assert (fetched.count, fetched.size) == (data.count(b"body-"), len(data))
        taken.append(data)
        offset = fetched.next_offset
    everything = b"".join(taken)
    assert [b"body-%d\x01T" % n in everything for n in range(100)] == [n % 3 != 2 for n in range(100)]


def test_removed_messages_are_not_read(store: MessageStore) -> None:
    places = [each.physical_offset for each in store.append([draft(n, body=bytes(400)) for n in range(16)])]
    remove_log_file(store)
    first = next(n for n, place in enumerate(places) if place >= 4096)
    requested: list[bytes] = []

    def matches(properties: bytes) -> bool:
        requested.append(properties)
        return False

    fetched = store.get("T", 0, 2, 1, matches=matches)
    assert (fetched.status, fetched.next_offset) == (FetchStatus.NO_MATCHED_MESSAGE, 16)
    assert requested == [draft(n).properties for n in range(first, 16)]
