"""Sends by the kernel: what is stored and answered is what the general way stores and answers, byte for byte."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.wire.codes import FLAG_ONEWAY, RequestCode, SysFlag
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.server.harness import batch_body, properties_text, run, send_ext, topic_ext
from tests.server.kernel_runs import Run, files_of, running

SEND = RequestCode.SEND_MESSAGE
V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
MOST = 3000
"""Bytes that a body has at most in most of these tests."""
SMALL = {"mapped_file_size_commit_log": 1 << 16, "mapped_file_size_consume_queue": 20 * 50, "max_message_size": MOST}

opaques = itertools.count(1)


def frame(code: int, ext: dict[str, str], body: bytes = b"", *, flag: int = 0, kind: int = 0) -> bytes:
    return encode_frame(Header(code=code, opaque=next(opaques), flag=flag, version=407, ext=ext), body, kind)


def send(topic: str = "T", body: bytes = b"body", **changes: Any) -> bytes:
    return frame(V2, send_ext(topic, **changes), body)


def make_topics(run: Run) -> None:
    for name, queues, kind in (("T", 3, "SINGLE_TAG"), ("U", 1, "SINGLE_TAG"), ("M", 1, "MULTI_TAG")):
        ext = topic_ext(name, queues, topic_filter_type=kind)
        answers = run.read(frame(RequestCode.UPDATE_AND_CREATE_TOPIC, ext))
        assert [answer.header.code for answer in answers.values()] == [0]


texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = texts | st.sampled_from(["", "true", "false", "TRUE", "a b  c", "x" * 300])
names = st.sampled_from(
    ["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "CLUSTER", "PGROUP", "a", "", "DELAY", "TRAN_MSG", "TIMER_DELAY_MS"]
)
plain_names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "WAIT", "CLUSTER", "PGROUP", "a", ""])


def properties(of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    item = st.tuples(of, st.sampled_from(["\x01", "\x01", "\x01", "", "\x01\x01"]), values).map("".join)
    return st.lists(item, max_size=5).map("\x02".join)


any_properties = st.one_of(
    properties(plain_names),
    properties(plain_names),
    properties(names),
    st.just("a\x01" + "x" * 32_760),
    st.just(properties_text(TAGS="标签", KEYS="鍵 \U0001f600", a="\U00010000")),
)
bodies = st.binary(max_size=200) | st.sampled_from([b"", bytes(MOST), bytes(MOST + 1)])
fields: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "topic": st.sampled_from(["T", "T", "T", "U", "M", "New", "%RETRY%G", "SCHEDULE_TOPIC_XXXX", "bad topic"]),
        "queue_id": st.sampled_from([0, 0, 1, 2, 3, -1]),
        "sys_flag": st.sampled_from([0, 0, 0, SysFlag.COMPRESSED, 0x301, 0x501, 4, 8, 12, 0x30, -1]),
        "flag": st.sampled_from([0, -1, 1 << 30]),
        "reconsume_times": st.sampled_from([0, 3]),
        "unit_mode": st.booleans(),
    }
)
ways = st.sampled_from([(0, 0), (0, 0), (0, 0), (FLAG_ONEWAY, 0), (0, 1)])
"""Flag and serialise type."""


@st.composite
def single(draw: st.DrawFn) -> bytes:
    flag, kind = draw(ways)
    code = draw(st.sampled_from([V2, V2, V2, SEND, BATCH]))
    ext = send_ext(**draw(fields), properties=draw(any_properties), short=code != SEND)
    return frame(code, ext, draw(bodies), flag=flag, kind=kind)


@st.composite
def batch(draw: st.DrawFn) -> bytes:
    flag, kind = draw(ways)
    usual = st.sampled_from(["WAIT\x01true", "WAIT\x01true", "", "WAIT\x01false\x02UNIQ_KEY\x01u"])
    of_all = draw(usual | any_properties)
    ext = send_ext(**draw(fields), properties=of_all, batch=True)
    body = b"".join(
        batch_body([draw(st.binary(max_size=100))], draw(properties(plain_names) | any_properties))
        for _ in range(draw(st.integers(0, 6)))
    )
    body = draw(st.sampled_from([body, body, body, body, body[:-1], body + b"\0"]))
    return frame(draw(st.sampled_from([BATCH, BATCH, V2])), ext, body, flag=flag, kind=kind)


streams = st.lists(st.lists(single() | single() | batch(), max_size=12), min_size=1, max_size=4)


async def outcome(store: Path, reads: list[list[bytes]], *, kernel: bool, **changes: Any) -> tuple[Any, ...]:
    with running(store, kernel=kernel, **{**SMALL, **changes}) as served:
        make_topics(served)
        answers = [served.read(b"".join(frames)) for frames in reads]
        counts = served.metrics.requests, served.metrics.messages_in
    return answers, files_of(store), counts


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@given(streams)
@settings(max_examples=60, deadline=None)
def test_both_ways_do_the_same(tmp_path_factory: pytest.TempPathFactory, reads: list[list[bytes]]) -> None:
    expected = run(outcome_of, tmp_path_factory.mktemp("python"), reads, False)
    found = run(outcome_of, tmp_path_factory.mktemp("kernel"), reads, True)
    assert found == expected


async def outcome_of(store: Path, reads: list[list[bytes]], kernel: bool) -> tuple[Any, ...]:
    return await outcome(store, reads, kernel=kernel)
