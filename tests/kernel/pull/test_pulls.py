"""`Pulls` against its twin: what it answers is what the store's own reading gives; the rest is Python's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rocketwire.store.read.fetch import FetchLimits, FetchStatus
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.kernel.pull.pulls_support import ANSWERED, PullCase, Twins, numbered, replace_limits, update
from tests.server.harness import BINARY, JSON
from tests.store.support import draft, open_store, remove_log_file, small

# --- the same answers ---

SQL = ("a > 3", "a IS NULL", "b = 'x' OR TAGS = 'Tag1'", "1 = 1", "a = 'none'", "TAGS IN ('Tag0') AND NOT (a < 3)")
offsets = st.integers(-1, 70)
pulls = st.builds(
    PullCase,
    queue_id=st.integers(0, 2),
    offset=offsets,
    most=st.integers(-1, 40),
    most_bytes=st.none() | st.integers(-1, 2000),
    expression=st.sampled_from(["*", "Tag0", "Tag1 || Tag2", "none", "Tag0||Tag1||Tag2||Tag3", *SQL]),
    opaque=st.integers(-(2**31), 2**31 - 1),
    serialize_type=st.sampled_from([JSON, BINARY]),
    code=st.sampled_from([RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE]),
    sys_flag=st.sampled_from([4, 6]),
    flag=st.just(0),
)
limits = st.builds(
    FetchLimits,
    memory=st.sampled_from([0, 500, 3000, 1 << 40]),
    count_in_memory=st.integers(1, 40),
    bytes_in_memory=st.sampled_from([1, 300, 1000, 1 << 18]),
    count_on_disk=st.integers(1, 10),
    bytes_on_disk=st.sampled_from([1, 300, 1000, 1 << 16]),
)
messages = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.sampled_from([1, 10, 100, 2500]), st.booleans()), max_size=60
)
large = st.sampled_from([4096, 1 << 16])


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    messages, large, st.sampled_from([320, 20_000]), st.integers(0, 2), limits, st.lists(pulls, min_size=1, max_size=20)
)
def test_answers_are_those_of_python(
    history: list[tuple[int, int, int, bool]],
    log_size: int,
    queue_size: int,
    expired: int,
    limits: FetchLimits,
    requested: list[PullCase],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        setup = small(Path(directory), commit_log_file_size=log_size, consume_queue_file_size=queue_size)
        store = open_store(setup)
        for number, (queue_id, tag, size, away) in enumerate(history):
            code: dict[str, Any] = {"tags_code": -(2**31) - 1 - number} if tag == 5 else {}
            reported = f"a\x01{number % 6}\x02\x02b\x01\x02b\x01{'xy'[number % 2]}\x02b\x01\x02TAGS\x01Tag{tag}"
            text = reported.encode()[number % 3 :]
            store.append([draft(3 * number + tag, queue_id=queue_id, body=bytes(size), properties=text, **code)])
            if away:
                store.queues.by_key["T", queue_id].unmap()
        for _ in range(expired):
            if len(store.log.segments) > 2:
                remove_log_file(store)
        twins = Twins(store, limits)
        for pull in requested:
            status, expected, count, size = twins.python(pull)
            answer, taken = twins.serve(pull.frame())
            assert taken in {0, len(pull.frame())}
            delivered, requests = twins.pulls.take()
            held, twins.held = twins.held, []
            if status is FetchStatus.OFFSET_OVERFLOW_ONE and pull.sys_flag & 2:
                account = ("G", "T", pull.queue_id)
                assert held == [(None, account, pull.offset, 15_000, pull.code, pull.opaque, pull.serialize_type)]
                assert (bool(taken), answer, delivered) == (True, b"", [])
                continue
            assert not held
            if taken:
                assert answer == expected
                assert status in ANSWERED
                assert delivered == ([(("G", "T", pull.queue_id), count, size, 1)] if count else [])
                assert sum(requests.values()) == requests[pull.code] == 1
            else:
                assert (answer, delivered, sum(requests.values())) == (b"", [], 0)
                if status in ANSWERED:
                    far = pull.expression in SQL and limits.memory < 1 << 40
                    assert log_size == 4096 or far, "all in one file: that is for the kernel"
            event(f"{status}: {'taken' if taken else 'left'}")
        store.close()


damages = st.lists(
    st.tuples(
        st.sampled_from(["queue", "log"]),
        st.integers(0, 3000),
        st.one_of(
            st.binary(min_size=1, max_size=9),
            st.integers(-(2**63), 2**63 - 1).map(lambda number: number.to_bytes(8, signed=True)),
            st.integers(-300, 3000).map(lambda number: number.to_bytes(8, signed=True)),
            st.integers(-300, 3000).map(lambda number: number.to_bytes(4, signed=True)),
        ),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(damages, st.lists(pulls, min_size=1, max_size=8))
def test_of_a_damaged_store_the_answer_is_that_of_python(
    damages: list[tuple[str, int, bytes]], requested: list[PullCase]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = numbered(Path(directory), 20)
        for part, at, data in damages:
            buffer = store.log.buffer if part == "log" else store.queues.by_key["T", 0].buffer
            assert buffer is not None
            place = at if part == "log" else at % 400
            buffer[place : place + len(data)] = data
        twins = Twins(store)
        for pull in requested:
            answer, taken = twins.serve(pull.frame())
            if taken and not twins.held:
                assert answer == twins.python(pull)[1]
            twins.held.clear()
        store.close()


def test_many_of_one_read_are_answered_in_order(twins: Twins) -> None:
    requested = [PullCase(offset=number, opaque=number, serialize_type=number % 2) for number in range(10)]
    data = b"".join(pull.frame() for pull in requested)
    expected = [twins.python(pull) for pull in requested]
    assert twins.serve(data) == (b"".join(each[1] for each in expected), len(data))
    assert len(twins.requests) == 1
    count = sum(each[2] for each in expected)
    assert twins.pulls.take() == (
        [(("G", "T", 0), count, sum(each[3] for each in expected), 10)],
        {11: 10, 15: 0, 361: 0},
    )
    assert twins.pulls.take() == ([], {11: 0, 15: 0, 361: 0})


def test_large_records_are_ranges_of_the_log(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append(
        [draft(number, queue_id=number % 3 // 2, body=bytes([number]) * (number * 500)) for number in range(20)]
    )
    twins = Twins(store)
    for queue_id in range(2):
        pull = PullCase(queue_id=queue_id)
        assert twins.serve(pull.frame()) == (twins.python(pull)[1], len(pull.frame()))


def test_more_runs_than_there_is_room_for_are_for_python(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, queue_id=number % 2) for number in range(400)])
    twins = Twins(store, replace_limits(count_in_memory=200))
    for most, takes in ((128, True), (129, False)):
        pull = PullCase(most=most)
        assert bool(twins.serve(pull.frame())[1]) is takes


# --- what is for Python ---


@pytest.mark.parametrize(
    "pull",
    [
        PullCase(offset=10),
        PullCase(offset=-1),
        PullCase(offset=99),
        PullCase(queue_id=1),
        PullCase(expression="python"),
        PullCase(flag=FLAG_ONEWAY),
        PullCase(flag=FLAG_RESPONSE),
        PullCase(code=RequestCode.QUERY_CONSUMER_OFFSET),
        PullCase(expression="x" * 700),
    ],
)
def test_what_is_not_found_or_not_plain_is_for_python(twins: Twins, pull: PullCase) -> None:
    first = PullCase(offset=3)
    data = first.frame() + pull.frame() + first.frame()
    assert twins.serve(data) == (twins.python(first)[1], len(first.frame()))
    assert twins.pulls.take()[1] == {11: 1, 15: 0, 361: 0}


def test_nothing_is_taken_while_it_is_switched_off(twins: Twins) -> None:
    frames = PullCase().frame() + update()
    twins.pulls.enabled = False
    assert twins.serve(frames)[1] == 0
    assert (twins.requests, twins.committed) == ([], [])
    twins.pulls.enabled = True
    assert twins.serve(frames)[1] == len(frames)


def test_part_of_a_frame_is_for_python(twins: Twins) -> None:
    frame = PullCase().frame()
    assert twins.serve(frame[:-1]) == (b"", 0)
    assert twins.serve(b"") == (b"", 0)


def test_an_answer_that_no_frame_holds_is_for_python(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20, consume_queue_file_size=20_000))
    store.append([draft(number, body=bytes(1000)) for number in range(10)])
    twins = Twins(store)
    short = twins.kernel_pulls(max_frame=5000)
    assert short.serve(None, PullCase().frame(), 0) == (b"", 0)
    assert short.serve(None, PullCase(most=2).frame(), 0)[1]


# --- offsets ---


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("opaque", [0, -5, 2**31 - 1])
def test_offset_updates_are_noted_and_answered(twins: Twins, serialize_type: int, opaque: int) -> None:
    answer = encode_frame(Header(code=0, opaque=opaque, flag=1, version=407, ext={}), b"", serialize_type)
    for number in range(3):
        data = update(offset=number, serialize_type=serialize_type, opaque=opaque)
        assert twins.serve(data) == (answer, len(data))
    assert twins.committed == [("G", "T", 2, number) for number in range(3)]
    assert twins.requests == [("G", "T")]
    assert twins.pulls.take() == ([], {11: 0, 15: 3, 361: 0})


def test_one_way_updates_are_not_answered(twins: Twins) -> None:
    data = update(flag=FLAG_ONEWAY) * 2
    assert twins.serve(data) == (b"", len(data))
    assert len(twins.committed) == 2


def test_offsets_of_the_brokers_own_are_for_python(twins: Twins) -> None:
    for _ in range(2):
        assert twins.serve(update("mine")) == (b"", 0)
    assert twins.requests == [("mine", "T")]
    assert not twins.committed


def test_a_pull_brings_an_offset_with_it(twins: Twins) -> None:
    pull = PullCase(sys_flag=5)
    assert twins.serve(pull.frame())[0] == twins.python(pull)[1]
    assert twins.committed == [("G", "T", 0, 5)]
    twins.serve(PullCase(sys_flag=5, offset=10).frame())
    assert len(twins.committed) == 1, "it is for Python, and so is its offset"


def test_what_could_not_be_committed_is_for_python(twins: Twins) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError

    twins.commit = refuse
    assert twins.serve(PullCase(sys_flag=5).frame()) == (b"", 0)
    assert twins.serve(update()) == (b"", 0)
    assert twins.pulls.take() == ([], {11: 0, 15: 0, 361: 0})


@pytest.mark.parametrize("sys_flag", [5, 7])
def test_what_ends_the_process_is_passed_on(twins: Twins, sys_flag: int) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    twins.commit = stop
    with pytest.raises(KeyboardInterrupt):
        twins.serve(PullCase(sys_flag=sys_flag, offset=10 if sys_flag == 7 else 0).frame())
    with pytest.raises(KeyboardInterrupt):
        twins.serve(update())
    with pytest.raises(KeyboardInterrupt):
        twins.kernel_pulls(hold=stop).serve(None, PullCase(offset=10, sys_flag=6).frame(), 0)


# --- pulls that wait ---


def test_a_pull_at_the_end_waits_if_it_may(twins: Twins) -> None:
    waits = PullCase(offset=10, sys_flag=6, opaque=70)
    data = waits.frame(suspend_timeout_millis=9) + PullCase(offset=10).frame()
    assert twins.pulls.serve("me", data, 0) == (b"", len(waits.frame(suspend_timeout_millis=9)))
    assert twins.held == [("me", ("G", "T", 0), 10, 9, 11, 70, 0)]
    assert not twins.committed
    for offset in (9, 11, -1):
        twins.serve(PullCase(offset=offset, sys_flag=6).frame())
    assert len(twins.held) == 1
    assert twins.pulls.take() == ([(("G", "T", 0), 1, twins.python(PullCase(offset=9))[3], 1)], {11: 2, 15: 0, 361: 0})


def test_a_pull_that_waits_has_brought_its_offset_before(twins: Twins) -> None:
    waits = PullCase(offset=10, sys_flag=7)
    assert twins.serve(waits.frame())[1]
    assert (twins.committed, len(twins.held)) == ([("G", "T", 0, 5)], 1)

    def refuse(*_: Any) -> None:
        raise ValueError

    twins.commit = refuse
    assert twins.serve(waits.frame()) == (b"", 0)
    assert len(twins.held) == 1


def test_what_cannot_wait_is_for_python(twins: Twins) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError

    pulls = twins.kernel_pulls(hold=refuse)
    assert pulls.serve(None, PullCase(offset=10, sys_flag=6).frame(), 0) == (b"", 0)
    assert pulls.take() == ([], {11: 0, 15: 0, 361: 0})
