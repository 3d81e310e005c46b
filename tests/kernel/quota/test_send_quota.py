"""Quotas of sends: what is charged, which are refused and how, and which are not checked."""

from __future__ import annotations

import math
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.server.throttle.bucket import PythonBucket
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, encode_header_around_opaque
from tests.kernel.send.test_sends import BATCH, BORN, NOW, SESSION, V2, Queue, Rig, batch, send
from tests.server.harness import BINARY, JSON, batch_body, send_ext

SECOND = 1_000_000_000
REMARK = "Rate of message sending reaches limit"
EXT = {"TRACE_ON": "true", "MSG_REGION": "R"}
FACTORS = (1, 5, 7)
"""Of any message, with a sharding key, for a set time."""


def refusal(opaque: int) -> Header:
    return Header(
        code=ResponseCode.FLOW_CONTROL, opaque=opaque, flag=FLAG_RESPONSE, version=407, ext=EXT, remark=REMARK
    )


class Limited(Rig):
    """Sends with quotas; `buckets` are those of all plans."""

    def __init__(self, *rates: int, each: int = 100, factors: tuple[int, int, int] = FACTORS) -> None:
        super().__init__()
        kernel: Any = native.kernel
        self.buckets = tuple(kernel.Bucket(rate, 0) for rate in rates)
        self.kinds = ("instance", "topic", "group")[: len(rates)]
        self.timers = Queue()
        self.quota: Any = (self.buckets, self.kinds, each, *factors)
        self.answer = lambda: (
            self.queue,
            0,
            None,
            False,
            (self.timers, 10_000, b"\x02REAL_TOPIC\x01T", None),
            self.quota,
        )
        self.sends.refusal = tuple(encode_header_around_opaque(refusal(0), kind) for kind in (JSON, BINARY))

    def serve_at(self, now_ns: int, *frames: bytes) -> bytes:
        """The answers to frames that are all taken."""
        data = b"".join(frames)
        answers, taken = self.sends.serve(SESSION, BORN, NOW, data, now_ns / SECOND)
        assert taken == len(data)
        return bytes(answers)

    def counts(self) -> tuple[int, dict[str, int]]:
        """Messages charged and requests refused."""
        *_, converted, refused, _ = self.sends.take()
        return converted, refused


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize(
    ("body", "properties", "cost"),
    [
        (0, "", 1),
        (1, "", 1),
        (100, "a\x01b", 1),
        (101, "", 2),
        (250, "__SHARDINGKEY\x01k", 15),
        (250, "a\x01b\x02__SHARDINGKEY\x01\x01\x02", 15),
        (1, "__SHARDINGKEY\x01", 1),
        (1, "__SHARDINGKEY", 1),
        (1, "__SHARDINGKEYS\x01k\x02_SHARDINGKEY\x01k\x02a\x01__SHARDINGKEY", 1),
        (250, "TIMER_DELAY_MS\x011500", 21),
        (250, "TIMER_DELAY_MS\x011500\x02__SHARDINGKEY\x01k", 21),
    ],
)
def test_a_message_is_charged_by_its_size_and_kind(body: int, properties: str, cost: int) -> None:
    rig = Limited(1000, 100)
    rig.serve_at(0, send(bytes(body), properties=properties))
    assert [bucket.level for bucket in rig.buckets] == [(1000 - cost) * SECOND, (100 - cost) * SECOND]
    assert rig.counts() == (cost, {})
    assert rig.counts() == (0, {})


def test_the_greatest_factor_counts_whichever_it_is() -> None:
    rig = Limited(1000, factors=(9, 5, 7))
    rig.serve_at(0, send(properties="TIMER_DELAY_MS\x011500\x02__SHARDINGKEY\x01k"))
    assert rig.counts() == (9, {})


def test_a_batch_is_charged_for_each_of_its_messages() -> None:
    rig = Limited(1000)
    rig.answer = lambda: (rig.queue, 0, b"", False, None, rig.quota)
    body = batch_body([b"", bytes(101)]) + batch_body([bytes(201)], "__SHARDINGKEY\x01k")
    rig.serve_at(0, send(body, code=BATCH, batch=True))
    assert rig.counts() == (1 + 2 + 3 * 5, {})
    assert rig.buckets[0].taken == 18


@pytest.mark.parametrize(("rates", "kind"), [((0, 5), "instance"), ((5, 0), "topic"), ((5, 5, 0), "group")])
def test_the_first_empty_bucket_refuses_and_none_is_charged(rates: tuple[int, ...], kind: str) -> None:
    rig = Limited(*rates)
    answers = rig.serve_at(0, send(opaque=5), send(opaque=-6, kind=BINARY), send(flag=FLAG_ONEWAY))
    assert answers == encode_frame(refusal(5)) + encode_frame(refusal(-6), serialize_type=BINARY)
    assert rig.records() == []
    assert [bucket.level for bucket in rig.buckets] == [rate * SECOND for rate in rates]
    touched, messages, size, requests, converted, refused, given_back = rig.sends.take()
    assert (touched, messages, size, requests) == ([], 0, 0, {V2: 3})
    assert (converted, refused, given_back) == (0, {kind: 3}, {})


def test_refusals_are_written_among_the_answers_in_their_order() -> None:
    rig = Limited(1)
    stored = rig.serve_at(SECOND, send(opaque=1))
    assert rig.serve_at(SECOND, send(opaque=2)) == encode_frame(refusal(2))
    rig.serve_at(SECOND + SECOND // 2, send(opaque=3), send(opaque=4))
    assert [record.body for record in rig.records()] == [b"body"] * 2
    assert b'"opaque":1' in stored
    assert rig.counts() == (2, {"instance": 2})


def test_a_batch_that_is_over_is_refused_as_a_whole() -> None:
    rig = Limited(1)
    rig.answer = lambda: (rig.queue, 0, b"", False, None, rig.quota)
    rig.serve_at(0, batch(50))
    assert rig.serve_at(0, batch(3, opaque=9)) == encode_frame(refusal(9))
    assert (len(rig.records()), rig.counts()) == (50, (50, {"instance": 1}))


def test_what_is_for_python_is_not_charged() -> None:
    rig = Limited(5)
    assert rig.serve(send(properties="DELAY\x013"))[1] == 0
    assert rig.serve(send(properties="a\x01\0"))[1] == 0
    rig.buckets[0].take(5)
    assert rig.serve(send(bytes(20_000)))[1] == 0  # too large for whatever plan there is
    assert (rig.buckets[0].level, rig.counts()) == (0, (0, {}))


def test_a_refusal_waits_for_no_disk() -> None:
    rig = Limited(1)
    rig.sends.deferred = True
    assert rig.serve_at(0, send(opaque=1), send(opaque=2)) == encode_frame(refusal(2))
    ((_, waiting, _),) = rig.waiting
    assert b'"opaque":1,' in waiting


def test_plans_are_by_group_where_that_is_wanted(rig: Rig) -> None:
    def groups(*names: str) -> list[object]:
        rig.sends.forget()
        rig.plans.clear()
        for name in names:
            assert rig.serve(send(producer_group=name))[1] == 1
        return [requested[-1] for requested in rig.plans]

    assert groups("a", "b", "a") == [""]
    rig.sends.by_group = True
    assert groups("a", "b", "a", "") == ["a", "b", ""]
    assert groups("x" * 600)
    assert rig.serve(send(producer_group="x" * 640))[1] == 0  # no room in a plan's key
    rig.plans.clear()
    for group, topic in (("a", "bT"), ("ab", "T"), ("a", "bT")):
        ext = send_ext(topic, queue_id=3, producer_group=group)
        assert rig.serve(encode_frame(Header(code=V2, opaque=1, version=407, ext=ext), b""))[1] == 1
    assert [(requested[0], requested[-1]) for requested in rig.plans] == [("bT", "a"), ("T", "ab")]


GOOD = (100, 1, 5, 5)


@pytest.mark.parametrize(
    ("buckets", "kinds", "numbers"),
    [
        (1, ("a",), ()),
        (1, ("a",), (100, 1, 5)),
        (0, (), GOOD),
        (4, ("a",) * 4, GOOD),
        (1, ("a", "b"), GOOD),
        (1, (b"a",), GOOD),
        (2, ("a", 5), GOOD),
        (1, ["a"], GOOD),
        (1, ("a",), (0, 1, 5, 5)),
        (1, ("a",), (100, -1, 5, 5)),
        (1, ("a",), (100, 1, -5, 5)),
        (1, ("a",), (100, 1, 5, -5)),
        (1, ("a",), (1 << 40, 1, 5, 5)),
    ],
)
def test_what_python_answers_is_checked(buckets: int, kinds: Any, numbers: tuple[int, ...]) -> None:
    rig = Limited(1)
    rig.quota = (rig.buckets * buckets, kinds, *numbers)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        rig.serve(send())
    rig.quota = (rig.buckets, ("a",), *GOOD)
    assert rig.serve(send())[1] == 1


def test_buckets_are_the_kernels_and_quotas_a_tuple() -> None:
    rig = Limited(1)
    for wrong in (5, ((PythonBucket(1, 0),), ("a",), *GOOD)):
        rig.quota = wrong
        with pytest.raises(TypeError):
            rig.serve(send())


def test_a_plan_that_is_wrong_elsewhere_keeps_no_bucket() -> None:
    rig = Limited(1)
    before = sys.getrefcount(rig.buckets[0])
    rig.answer = lambda: (rig.queue, 0, None, False, 5, rig.quota)
    with pytest.raises(TypeError):
        rig.serve(send())
    rig.answer = lambda: (rig.queue, 0, None, False, None, rig.quota)
    rig.serve(send())
    rig.sends.forget()
    after = sys.getrefcount(rig.buckets[0])
    assert after == before


def test_there_are_few_kinds() -> None:
    rig = Limited(100)
    for number in range(8):
        rig.quota = (rig.buckets, (f"kind {number}",), *GOOD)
        rig.sends.forget()
        assert rig.serve(send())[1] == 1
    rig.quota = (rig.buckets, ("another",), *GOOD)
    rig.sends.forget()
    with pytest.raises(ValueError, match="more than 8 kinds"):
        rig.serve(send())


def test_a_quota_needs_words_to_refuse_with(rig: Rig) -> None:
    limited = Limited(1)
    rig.answer = lambda: (rig.queue, 0, None, False, None, limited.quota)
    assert rig.sends.refusal is None
    with pytest.raises(TypeError, match="there is no refusal"):
        rig.serve(send())
    around = (b"a", b"b")
    for wrong in (5, (around,), (around, around, around), (around, (b"a",)), (around, ("a", b"b")), (5, around)):
        with pytest.raises(TypeError):
            rig.sends.refusal = wrong
    with pytest.raises(TypeError):
        del rig.sends.refusal
    assert rig.sends.refusal is None
    rig.sends.refusal = (around, around)
    assert rig.sends.refusal == (around, around)
    assert rig.serve(send())[1] == 1


# --- as its twin ---

OWN = ("", "a\x01b", "__SHARDINGKEY\x01k", "__SHARDINGKEY\x01")
sizes = st.sampled_from([0, 1, 99, 100, 101, 400, 1000])


def histories(*properties: str) -> st.SearchStrategy[list[tuple[int, list[tuple[int, str]]]]]:
    """Pauses in ns, and the messages that come then."""
    messages = st.lists(st.tuples(sizes, st.sampled_from(properties)), min_size=1, max_size=3)
    return st.lists(st.tuples(st.integers(0, SECOND), messages), max_size=20)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=3),
    st.tuples(*[st.integers(0, 9)] * 3),
    st.integers(1, 500),
    st.tuples(st.just(False), histories(*OWN, "TIMER_DELAY_SEC\x013")) | st.tuples(st.just(True), histories(*OWN)),
)
def test_it_lets_pass_what_its_twin_lets_pass(
    rates: list[int],
    factors: tuple[int, int, int],
    each: int,
    comes: tuple[bool, list[tuple[int, list[tuple[int, str]]]]],
) -> None:
    batches, history = comes
    rig = Limited(*rates, each=each, factors=factors)
    twins = [PythonBucket(rate, 0) for rate in rates]
    if batches:
        rig.answer = lambda: (rig.queue, 0, b"", False, None, rig.quota)
    elapsed = converted = 0
    refused: Counter[str] = Counter()
    for pause, messages in history:
        elapsed += pause
        now = int(elapsed / SECOND * 1e9)  # as the kernel makes it of the loop's seconds
        requests = [messages] if batches else [[message] for message in messages]
        rig.serve_at(elapsed, *[_request(request, batches=batches) for request in requests])
        for request in requests:
            shut = next((kind for kind, twin in zip(rig.kinds, twins, strict=True) if not twin.ready(now)), None)
            if shut is not None:
                refused[shut] += 1
                continue
            cost = sum(_cost(size, text, each, factors) for size, text in request)
            converted += cost
            for twin in twins:
                twin.take(cost)
    assert rig.counts() == (converted, refused)
    for ours, twin in zip(rig.buckets, twins, strict=True):
        assert (ours.level, ours.taken) == (twin.level, twin.taken)


def _request(messages: list[tuple[int, str]], *, batches: bool) -> bytes:
    if batches:
        return send(b"".join(batch_body([bytes(size)], text) for size, text in messages), code=BATCH, batch=True)
    ((size, text),) = messages
    return send(bytes(size), properties=text)


def _cost(size: int, text: str, each: int, factors: tuple[int, int, int]) -> int:
    sharded, timed = text == "__SHARDINGKEY\x01k", text.startswith("TIMER")
    return math.ceil(max(size, 1) / each) * max(factors[0], factors[1] * sharded, factors[2] * timed)
