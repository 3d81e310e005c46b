"""Drafts of POP's records in C as server.pop.records makes them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire import native
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.records import PopRecords, point_names, pop_drafts

HOST = b"\x0a\0\0\x01\0\0\0\x05"
NOW = 1_700_000_000_120
REVIVE = "rmq_sys_REVIVE_LOG_C"
KERNEL = PopRecords(REVIVE, HOST)


@pytest.fixture(scope="module")
def twin() -> PopRecords:
    """Records of a broker without the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "kernel", None)
        return PopRecords(REVIVE, HOST)


names = st.sampled_from(["T", "%RETRY%g_T", "REAL_T", "Übung", 'a"b\\c', "x" * 255]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1, max_size=8
)
queues = st.builds(PopQueue, names, names, st.integers(0, 2**31 - 1))
offsets = st.integers(0, 2**62) | st.integers(0, 40)
times = st.integers(NOW - 20, NOW + 20) | st.integers(0, 10**18)
invisible_times = st.integers(990, 1030) | st.integers(0, 2**40)
numbers = st.lists(st.integers(0, 50) | offsets, min_size=1, max_size=130)


@given(queues, names, offsets, numbers.map(tuple), times, invisible_times, st.none() | names, st.integers(0, 2**31 - 1))
@example(PopQueue("T", "G", 3), "b", 7, tuple(range(32)), NOW, 30_000, None, 6)
@example(PopQueue("T", "G", 3), "b", 7, (0,), NOW, 1000, "client", 6)
def test_a_check_point_is_as_its_twin_makes_it(
    twin: PopRecords,
    queue: PopQueue,
    broker: str,
    start: int,
    differences: tuple[int, ...],
    pop_time: int,
    invisible_time: int,
    renewer: str | None,
    revive_queue: int,
) -> None:
    reported = queue, broker, start, differences, pop_time, invisible_time, renewer, revive_queue
    assert KERNEL.pop_draft(*reported) == twin.pop_draft(*reported)


@given(queues, names, offsets, times, numbers, st.integers(0, 2**31 - 1), times, times)
@example(PopQueue("T", "G", 3), "b", 7, NOW, [7], 6, NOW + 30_000, NOW)
@example(PopQueue("T", "G", 3), "b", 7, NOW, list(range(7, 39)), 6, NOW, NOW + 5)
@example(PopQueue("T", "G", 3), "b", 7, NOW, [8, 7, 8], 6, NOW, NOW)
@example(PopQueue("T", "G", 3), "b", 7, NOW, [7, 7], 6, NOW, NOW)
def test_an_acknowledgement_is_as_its_twin_makes_it(
    twin: PopRecords,
    queue: PopQueue,
    broker: str,
    start: int,
    pop_time: int,
    acked: list[int],
    revive_queue: int,
    due: int,
    now: int,
) -> None:
    reported = queue, broker, start, pop_time, acked, revive_queue, due, now
    assert KERNEL.acks_draft(*reported) == twin.acks_draft(*reported)


def ack(offsets: Sequence[int], topic: str = "T") -> object:
    drafts, reported = pop_drafts(REVIVE, HOST), point_names(topic, "G", "b")
    assert drafts is not None
    assert reported is not None
    return drafts.ack(reported, 3, 7, NOW, offsets, 6, NOW + 1000, NOW)


@pytest.mark.parametrize("offsets", [[7], [7, 9], list(range(7, 7 + 128)), (7, 2**63 - 1)])
def test_plain_ones_are_the_kernels(offsets: Sequence[int]) -> None:
    assert ack(offsets) is not None


@pytest.mark.parametrize("offsets", [[], [7, 7], [8, 7], list(range(129))])
def test_offsets_that_are_not_plain_are_pythons(offsets: Sequence[int]) -> None:
    assert ack(offsets) is None


def test_names_that_are_too_long_are_pythons() -> None:
    assert ack([7], "x" * 1000) is not None
    assert ack([7], "x" * 2000) is None


def test_names_that_properties_could_be_mistaken_for_are_pythons() -> None:
    assert point_names("T", "REAL_QID", "b") is None
    assert point_names("T", "G", "b\x02c") is None
    assert pop_drafts("REAL_TOPIC", HOST) is None


def test_wrong_arguments() -> None:
    drafts = pop_drafts(REVIVE, HOST)
    assert drafts is not None
    with pytest.raises(TypeError, match="5 parts"):
        drafts.ack((b"",), 3, 7, NOW, [7], 6, NOW, NOW)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        drafts.ack((b"",) * 5, 3, 7, NOW, ["x"], 6, NOW, NOW)  # type: ignore[list-item]
    with pytest.raises(OverflowError):
        drafts.ack((b"",) * 5, 3, 7, NOW, [2**63], 6, NOW, NOW)
    with pytest.raises(TypeError):
        kernel.PopDrafts(draft=int, revive_topic=REVIVE, timer_topic="t", host=HOST, codes=(1, 2))  # type: ignore[arg-type]
