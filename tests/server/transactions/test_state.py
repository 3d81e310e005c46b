"""The undecided messages, and the offsets before them: advanced, delayed until the disk has them, and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rocketwire.server.transactions.half import HALF, OP
from rocketwire.server.transactions.state import TransactionState
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.facts.record import BODY_CRC_AT
from tests.server.transactions.setup import BORN, GROUP, REAL, ROLLBACK, Setup
from tests.store.support import kill


def test_offsets_are_saved_when_the_disk_has_the_messages_before_them(setup: Setup) -> None:
    places = [setup.send(f"{number}") for number in range(3)]
    setup.decide(places[0])
    setup.decide(places[2])
    setup.state.note_progress()
    setup.state.note_progress()
    assert setup.committed_offsets == [None, None]
    setup.flush()
    setup.decide(places[1], ROLLBACK)
    setup.state.note_progress()
    assert setup.committed_offsets == [1, 1]
    setup.state.note_progress()
    setup.flush()
    setup.state.note_progress()
    assert setup.committed_offsets == [3, 3]
    setup.state.note_progress()
    assert setup.undecided == []


def test_an_op_message_is_finished_when_all_before_its_half_message_are(setup: Setup) -> None:
    places = [setup.send(f"{number}") for number in range(3)]
    for number in (2, 0):
        setup.decide(places[number])
    setup.save_progress()
    assert setup.committed_offsets == [1, 0]


def test_a_start_reads_the_decisions(setup: Setup) -> None:
    places = [setup.send(f"{number}") for number in range(50)]
    for place in places[::2]:
        setup.decide(place)
    setup.reopen()
    assert setup.undecided == list(range(1, 50, 2))
    assert [setup.state.is_undecided(number) for number in (-1, 0, 1, 49, 50)] == [False, False, True, True, False]
    assert [setup.state.next_undecided(number) for number in (0, 2, 49, 50, 90)] == [1, 3, 49, None, None]


def test_a_queue_that_lost_its_end_takes_new_half_messages(tmp_path: Path) -> None:
    """After a power cut the offsets may be behind the queue's end: no new half message may count as decided."""
    setup = Setup(tmp_path / "store")
    setup.send()
    setup.offsets.commit(GROUP, *HALF, 100)
    setup.offsets.commit(GROUP, *OP, 100)
    setup.reopen()
    assert setup.committed_offsets == [1, 0]
    place = setup.send("new", b"new")
    kill(setup.store)
    setup.open()
    assert setup.undecided == [1]
    setup.decide(place)
    assert setup.bodies() == [b"new"]
    setup.close()


def test_messages_missing_from_the_log_are_skipped(tmp_path: Path) -> None:
    setup = Setup(tmp_path / "store", commit_log_file_size=4096)
    places = [setup.send(f"{number}", bytes(1000)) for number in range(10)]
    setup.decide(places[0], ROLLBACK)
    setup.decide(places[9], ROLLBACK)
    segment = setup.store.retention.detach_log_file(0, 0, forcibly=True)
    assert segment is not None
    segment.remove()
    setup.reopen()
    assert setup.undecided[0] > 0
    assert setup.undecided[-1] == 8
    setup.close()


def test_queues_that_an_administrator_removed_begin_again(tmp_path: Path) -> None:
    """Offsets that began again at 0 would count as decided."""
    setup = Setup(tmp_path / "store", commit_log_file_size=4096)
    setup.decide(setup.send("old", bytes(1000)))
    for number in range(5):
        setup.store.append([Draft(*REAL, bytes(3000), b"", 0, 0, number, BORN)])
    retention = setup.store.retention
    while (segment := retention.detach_log_file(0, 0, forcibly=True)) is not None:
        segment.remove()
    for queue in [*retention.expired_queues(), *retention.unused_queues({REAL[0]})]:
        if queue is not None:
            retention.remove_queue(queue)
    place = setup.send("new", b"new")
    assert setup.undecided == [place.queue_offset]
    setup.decide(place)
    assert setup.bodies()[-1] == b"new"
    setup.close()


def test_a_damaged_op_message_leaves_its_half_message_undecided(setup: Setup) -> None:
    for number in range(3):
        setup.decide(setup.send(f"{number}"), ROLLBACK)
    at = setup.messages(OP)[1].physical_offset + 84  # the body's length
    segment = setup.store._log.segments.find(at)
    assert segment is not None
    segment.mapping[at : at + 4] = b"\x7f\0\0\0"
    setup.state = TransactionState(setup.store, setup.offsets)
    assert setup.undecided == [1]
    setup.save_progress()
    assert setup.committed_offsets == [1, 2]


def test_damaged_op_messages_and_those_without_a_half_message_are_finished(setup: Setup) -> None:
    place = setup.send()
    setup.send("other")
    setup.decide(place, ROLLBACK)
    (op,) = setup.messages(OP)
    for body in (b"", b"d", b"99999999999999999999", b"7"):
        setup.store.append([op._replace(body=memoryview(body)).draft(*OP, {"TAGS": "d"})])
    setup.reopen()
    assert setup.undecided == [1]
    setup.save_progress()
    assert setup.committed_offsets == [1, 5]


def test_a_damaged_record_is_skipped(setup: Setup, caplog: pytest.LogCaptureFixture) -> None:
    places = [setup.send(f"{number}") for number in range(3)]
    record = setup.store.record_at(places[1].physical_offset)
    assert record is not None
    segment = setup.store._log.segments.find(places[1].physical_offset)
    assert segment is not None
    at = places[1].physical_offset + 84  # the body's length
    segment.mapping[at : at + 4] = b"\x7f\0\0\0"
    assert setup.undecided == [0, 2]
    assert "message record of" in caplog.text
    segment.mapping[at : at + 4] = b"\0\0\0\4"
    first = places[1].physical_offset
    size, segment.mapping[first : first + 4] = bytes(segment.mapping[first : first + 4]), bytes(4)
    assert setup.undecided == [0]
    segment.mapping[first : first + 4] = size
    assert BODY_CRC_AT == 8


@hypothesis_settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(12)), saves=st.lists(st.integers(0, 11), max_size=4), starts=st.integers(0, 11))
def test_decisions_may_come_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], saves: list[int], starts: int
) -> None:
    setup = Setup(tmp_path_factory.mktemp("store"))
    places = [setup.send(f"{number}", b"%d" % number) for number in range(12)]
    left = set(range(12))
    for step, number in enumerate(order):
        setup.decide(places[number])
        left.discard(number)
        if step in saves:
            setup.flush()
            setup.state.note_progress()
        if step == starts:
            setup.reopen()
        assert setup.undecided == sorted(left)
        assert setup.state.next_undecided(0) == min(left, default=None)
    assert setup.bodies() == [b"%d" % number for number in order]
    setup.save_progress()
    assert setup.committed_offsets == [12, 12]
    setup.close()


def test_the_list_of_finished_op_messages_is_cut(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.transactions.state._WORTH_CUTTING", 4)
    for number in range(20):
        setup.decide(setup.send(f"{number}"), ROLLBACK)
        setup.flush()
        setup.state.note_progress()
    assert len(setup.state._ops) < 5
    assert setup.committed_offsets == [19, 19]
