"""AckMessage calls in C as server.grpc.consuming.acknowledging reads them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.grpc.service_pb2 import AckMessageRequest
from tests.kernel.fuzz.calls import acks_twin

numbers = st.integers(0, 40) | st.sampled_from([2**31 - 1, 2**31, 10**18 - 1, 32_768, 32_769]) | st.integers(-3, 2**64)
small = st.integers(0, 9)
plain_handles = st.builds(
    "{} {} {} {} {} {} {} {}{}".format,
    *(small, st.integers(1, 3), st.integers(60, 61), small, st.integers(0, 2), st.just("broker-a"), small),
    st.integers(9, 40),
    st.sampled_from(["", " R"]) | small.map(" {}".format) | small.map(" {} R".format),
)
wild_handles = st.builds(
    "{} {} {} {} {} {} {} {}{}".format,
    *(numbers, numbers, numbers, numbers, st.integers(0, 3), st.sampled_from(["a", "b", "é", ""]), numbers, numbers),
    st.sampled_from(["", " 7", " x", " ", " R", " R R", " 1 2"]),
)
handles = plain_handles | wild_handles | st.text("0123 ", max_size=30)


def request(*reported: tuple[str, str], topic: str = "T", group: str = "g") -> AckMessageRequest:
    made = AckMessageRequest()
    made.topic.name, made.group.name = topic, group
    for message_id, text in reported:
        made.entries.add(message_id=message_id, receipt_handle=text)
    return made


def assert_same(payload: bytes) -> Any:
    found = kernel.read_acks(payload)
    if found is not None:
        assert found == acks_twin(payload)
    return found


@given(st.lists(st.tuples(st.text(max_size=3), handles), max_size=4), st.text(max_size=3), st.text(max_size=3))
@example([("", "1 2 3 4 0 b 5 6"), ("", "1 2 3 4 0 b 5 6 7")], "T", "g")
@example([("", "1 2 3 4 0 b 5 6"), ("", "1 2 3 4 0 c 5 6")], "T", "g")
@example([("", "1 2 3 4 0 b 5 6"), ("", "1 2 3 4 0 b 5 6 R")], "T", "g")
def test_calls_are_as_the_twin_reads_them(reported: list[tuple[str, str]], topic: str, group: str) -> None:
    assert_same(request(*reported, topic=topic, group=group).SerializeToString())


@given(st.lists(plain_handles, min_size=1, max_size=40))
def test_plain_calls_are_taken(reported: list[str]) -> None:
    assert assert_same(request(*[("id", text) for text in reported]).SerializeToString()) is not None


@given(
    st.lists(plain_handles, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3),
    st.integers(0, 400),
)
def test_whatever_the_bytes_are(reported: list[str], changes: list[tuple[int, int]], cut: int) -> None:
    payload = bytearray(request(*[("id", text) for text in reported]).SerializeToString())
    for place, value in changes:
        payload[place % len(payload)] = value
    assert_same(bytes(payload))
    assert_same(bytes(payload[:cut]))


@given(st.binary(max_size=60))
def test_any_bytes(payload: bytes) -> None:
    assert_same(payload)


@pytest.mark.parametrize(("count", "taken"), [(0, False), (1, True), (2, True), (128, True), (129, False)])
def test_how_many_deliveries_a_batch_has(count: int, *, taken: bool) -> None:
    reported = [("id", f"1 2 3 4 0 b 5 {offset}") for offset in range(1, count + 1)]
    payload = request(*reported).SerializeToString()
    assert (kernel.read_acks(payload) is not None) is taken
    assert (acks_twin(payload) is not None) is taken
