"""Answers to pulls; pulls that are held together are answered as if each were held alone."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rocketwire.server.broker.broker import Broker
from rocketwire.server.pull.answers import PullSpec
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.statistics.windows import StatisticsColumn
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.header import Header
from tests.server.harness import BINARY, JSON, Client, Server, instances, pull_ext, records, run, serving, settle


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> list[Broker]:
    """All brokers made in the test; to be requested before `server`."""
    return instances(monkeypatch, Broker)


async def test_held_pulls_of_one_offset_are_answered_in_their_form(server: Server, broker: Client) -> None:
    ways = [(JSON, "*"), (BINARY, "*"), (JSON, "A || B"), (BINARY, "B||A"), (JSON, "A"), (JSON, "*")]
    waiting = [server.broker() for _ in ways]
    for client, (serialize_type, expression) in zip(waiting, ways, strict=True):
        await client.hold("T", serialize_type=serialize_type, subscription=expression)
    await broker.send("T", b"new", tags="A")
    answers = []
    for client, (serialize_type, _) in zip(waiting, ways, strict=True):
        (answer,) = await client.arrived()
        assert answer.serialize_type == serialize_type
        answers.append(answer)
    assert [[record.body for record in records(answer.body)] for answer in answers] == [[b"new"]] * len(ways)
    pulled = await broker.pull("T")
    for answer in answers:
        assert answer.header == Header(**{**_fields(pulled.header), "opaque": answer.header.opaque})
        assert answer.body == pulled.body


def _fields(header: Header) -> dict[str, Any]:
    return {name: getattr(header, name) for name in header.__struct_fields__}


async def test_each_held_pull_counts_for_its_group(brokers: list[Broker], server: Server, broker: Client) -> None:
    for group in ("G1", "G1", "G2"):
        await server.broker().hold("T", consumer_group=group)
    services = brokers[0]
    before = services.base.metrics.messages_out, services.base.metrics.bytes_out
    await broker.send("T", b"new")
    size = len((await broker.pull("T", consumer_group="G3")).body)
    assert services.base.metrics.messages_out - before[0] == 4
    assert services.base.metrics.bytes_out - before[1] == 4 * size
    delivered = services.statistics.delivered
    assert [delivered.total((group, "T")) for group in ("G1", "G2", "G3")] == [2, 1, 1]
    assert delivered.total(("G1", "T"), StatisticsColumn.BYTES) == 2 * size
    assert (delivered.total(("G1", "T"), StatisticsColumn.CALLS), services.base.metrics.pulls_found) == (2, 4)


async def test_a_held_one_way_pull_is_not_answered(brokers: list[Broker], server: Server, broker: Client) -> None:
    sys_flag = PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION
    ext = pull_ext("T", sys_flag=sys_flag, suspend_timeout_millis=15000)
    await broker.send_oneway(RequestCode.PULL_MESSAGE, ext)
    await settle()
    await server.broker().send("T")
    assert await broker.arrived() == []
    assert brokers[0].pulls.long_poll.held == 0


async def test_an_answer_that_no_frame_can_hold_is_refused(
    brokers: list[Broker], server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = brokers[0].pulls.pull_answers
    reply = answers.reply

    def too_long(spec: PullSpec, fetched: Any) -> Any:
        made = reply(spec, fetched)
        return type(made)(code=made.code, remark=made.remark, fields=made.fields, body=[bytes(MAX_FRAME_LENGTH)])

    await broker.hold("T")
    monkeypatch.setattr(type(answers), "reply", lambda _, spec, fetched: too_long(spec, fetched))
    await server.broker().send("T")
    (answer,) = await broker.arrived()
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert "longer than the limit" in answer.header.remark


steps = st.lists(
    st.one_of(
        st.tuples(st.just("hold"), st.integers(0, 2), st.sampled_from(["*", "A", "A||B", "C"]), st.integers(1, 3)),
        st.tuples(st.just("send"), st.integers(1, 3), st.sampled_from(["A", "B", "C"]), st.just(0)),
        st.tuples(st.just("wait"), st.integers(1, 6), st.just(""), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(steps)
def test_pulls_held_together_are_answered_as_those_held_alone(history: list[tuple[str, int, str, int]]) -> None:
    together = run(_play, history, False)
    alone = run(_play, history, True)
    assert together == alone


def _apart(spec: PullSpec) -> PullSpec:
    """The same, with a filter that equals no other."""
    by_code = spec.message_filter.by_code
    return replace(
        spec, message_filter=spec.message_filter._replace(by_code=lambda code: by_code is None or by_code(code))
    )


async def _play(history: list[tuple[str, int, str, int]], alone: bool) -> list[Any]:
    """All answers of the held pulls, with the step of each."""
    seen: list[Any] = []
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        if alone:
            hold = LongPoll.hold
            patch.setattr(LongPoll, "hold", lambda poll, pull, spec, seconds: hold(poll, pull, _apart(spec), seconds))
        async with serving(Path(directory)) as server:
            sender = server.broker()
            await sender.create_topic("T")
            waiting: list[Client] = []
            end = 0
            for number, (kind, value, text, most) in enumerate(history):
                if kind == "hold":
                    waiting.append(server.broker())
                    offset = max(0, end - value)
                    await waiting[-1].hold("T", offset, subscription=text, max_msg_nums=most, seconds=10)
                elif kind == "send":
                    for _ in range(value):
                        await sender.send("T", b"%d" % end, tags=text)
                        end += 1
                else:
                    await server.pass_time(value)
                for index, client in enumerate(waiting):
                    seen += [
                        (number, index, answer.header, len(records(answer.body))) for answer in await client.arrived()
                    ]
    return seen
