"""What a relay notes of frames: times of requests by their codes, and copies of sends."""

from __future__ import annotations

import select
import time
from array import array
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, SerializeType
from rocketwire.wire.header import Header, encode_header
from tests.kernel.relay.relay_support import PATIENCE, Pair, events, exactly, frame

CODES: Final = array("i", (10, 11, 310))
ALWAYS: Final = 1_000_000
KINDS: Final = (SerializeType.JSON, SerializeType.ROCKETMQ)
EXT: Final = {"a": "g" * 200, "b": 'T","opaque":7,"code":8', "opaque": "5"}


def made(code: int, opaque: int, *, flag: int = 0, kind: int = SerializeType.JSON, body: bytes = b"body") -> bytes:
    header = Header(code=code, opaque=opaque, flag=flag, version=407, ext=EXT)
    return frame(body, encode_header(header, kind), kind)


def answer(opaque: int, kind: int = SerializeType.JSON) -> bytes:
    return made(0, opaque, flag=FLAG_RESPONSE, kind=kind, body=b"")


def fetched(relay: Any, count: int) -> list[tuple[int, bytes]]:
    """The next copies, up to the expected number."""
    found: list[tuple[int, bytes]] = []
    while len(found) < count:
        assert select.select([relay], [], [], PATIENCE)[0], f"no more than {found}"
        assert relay.events() == []
        copies, dropped = relay.copies()
        assert dropped == 0
        found += copies
    return found


@pytest.fixture
def timing() -> Iterator[Any]:
    relay = kernel.Relay(1 << 20, CODES)
    yield relay
    relay.close()


@pytest.fixture
def copying() -> Iterator[Any]:
    relay = kernel.Relay(1 << 20, chance=ALWAYS)
    yield relay
    relay.close()


def passed(sender: Any, receiver: Any, data: bytes) -> None:
    sender.sendall(data)
    assert exactly(receiver, len(data)) == data


@pytest.mark.parametrize("kind", KINDS)
def test_requests_are_timed_by_their_codes(timing: Any, kind: int) -> None:
    pair = Pair(timing)
    passed(pair.client, pair.upstream, made(310, 1, kind=kind) + made(11, 2, kind=kind) + made(999, 3, kind=kind))
    time.sleep(0.02)
    passed(pair.upstream, pair.client, answer(3, kind) + answer(1, kind) + answer(77, kind))
    times = timing.times()
    assert {code: (requests, sum(counts)) for code, (requests, counts, _) in times.items()} == {
        310: (1, 1),
        11: (1, 0),
        -1: (1, 1),
    }
    _, counts, total = times[310]
    bounds = kernel.LATENCY_BOUNDS_NS
    assert total > 15_000_000
    assert counts.index(1) == sum(bound < total for bound in bounds)


def test_nothing_is_noted_unless_it_is_wanted() -> None:
    relay: Any = kernel.Relay(1 << 20)
    pair = Pair(relay)
    passed(pair.client, pair.upstream, made(310, 1))
    passed(pair.upstream, pair.client, answer(1))
    assert (relay.times(), relay.copies()) == ({}, ([], 0))
    pair.close()
    relay.close()


def test_neither_one_way_requests_nor_those_of_the_broker_have_a_time(timing: Any) -> None:
    pair = Pair(timing)
    passed(pair.client, pair.upstream, made(10, 1, flag=FLAG_ONEWAY))
    passed(pair.upstream, pair.client, made(11, 5))
    passed(pair.client, pair.upstream, answer(5))
    passed(pair.upstream, pair.client, answer(1))
    assert timing.times() == {10: (1, (0,) * 17, 0)}


def test_a_header_that_cannot_be_read_passes_without_a_time(timing: Any) -> None:
    pair = Pair(timing)
    passed(pair.client, pair.upstream, frame(b"", b"{}") + frame(b"", b"x", 1) + frame(b"", b"y", 9))
    assert timing.times() == {}


def test_requests_that_are_never_answered_are_forgotten(timing: Any) -> None:
    pair = Pair(timing)
    for opaque in range(5000):
        passed(pair.client, pair.upstream, made(11, opaque, kind=SerializeType.ROCKETMQ, body=b""))
    passed(pair.upstream, pair.client, answer(0) + answer(4999))
    assert sum(timing.times()[11][1]) == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 16, 32, 48, 1, 17, 33, 2, -1, -16, 2**31 - 1]))))
def test_answers_find_their_requests(steps: list[tuple[bool, int]]) -> None:
    """Numbers that fall into one place of the table do not get in each other's way."""
    relay: Any = kernel.Relay(1 << 20, CODES)
    pair = Pair(relay)
    requested: set[int] = set()
    answered = 0
    for is_answer, opaque in steps:
        if is_answer:
            passed(pair.upstream, pair.client, answer(opaque, SerializeType.ROCKETMQ))
            answered += opaque in requested
            requested.discard(opaque)
        else:
            passed(pair.client, pair.upstream, made(11, opaque, kind=SerializeType.ROCKETMQ))
            requested.add(opaque)
    counted = relay.times().get(11, (0, (), 0))
    assert sum(counted[1]) == answered
    pair.close()
    relay.close()


@pytest.mark.parametrize("kind", KINDS)
def test_sends_and_the_headers_of_their_answers_are_copied(copying: Any, kind: int) -> None:
    pair = Pair(copying)
    send = made(310, 1, kind=kind, body=bytes(500_000))
    passed(pair.client, pair.upstream, send + made(11, 2, kind=kind))
    passed(pair.upstream, pair.client, made(0, 1, flag=FLAG_RESPONSE, kind=kind, body=b"body") + answer(2, kind))
    first, second = fetched(copying, 2)
    assert first == (pair.number, send)
    assert second[0] == pair.number
    assert second[1] == made(0, 1, flag=FLAG_RESPONSE, kind=kind)[: len(second[1])]
    assert not second[1].endswith(b"body")


def test_a_send_that_comes_byte_by_byte_is_copied(copying: Any) -> None:
    pair = Pair(copying)
    send = made(10, 1, body=b"in pieces")
    for byte in send:
        pair.client.sendall(bytes((byte,)))
        time.sleep(0.0001)
    assert exactly(pair.upstream, len(send)) == send
    assert fetched(copying, 1) == [(pair.number, send)]


def test_a_part_of_sends_is_copied() -> None:
    relay: Any = kernel.Relay(1 << 20, chance=ALWAYS // 4, seed=12345)
    pair = Pair(relay)
    passed(pair.client, pair.upstream, b"".join(made(310, each) for each in range(400)))
    time.sleep(0.05)
    assert 60 < len(relay.copies()[0]) < 140
    pair.close()
    relay.close()


def test_copies_that_are_not_fetched_are_dropped(copying: Any) -> None:
    pair = Pair(copying)
    for each in range(1100):
        passed(pair.client, pair.upstream, made(310, each))
    copies, dropped = copying.copies()
    assert (len(copies), dropped) == (1000, 100)
    passed(pair.client, pair.upstream, made(310, 2000))
    assert len(fetched(copying, 1)) == 1


def test_a_pair_that_ends_within_a_send_leaves_no_copy(copying: Any) -> None:
    pair = Pair(copying)
    send = made(310, 1, body=bytes(1 << 20))
    passed(pair.client, pair.upstream, send[:-5])
    pair.close()
    events(copying)
    assert copying.copies() == ([], 0)


def test_the_relay_may_close_within_a_send_and_with_copies(copying: Any) -> None:
    pair = Pair(copying)
    passed(pair.client, pair.upstream, made(310, 1) + made(310, 2)[:-1])
    copying.close()


def test_codes_are_few() -> None:
    with pytest.raises(ValueError, match="too many codes"):
        kernel.Relay(1, array("i", range(40_000)))
