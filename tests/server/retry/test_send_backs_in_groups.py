"""Messages sent back that are grouped by the fast path are answered and stored as those served one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.retry.send_back import SendBack
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import (
    BINARY,
    Client,
    Server,
    code_and_remark,
    free_port,
    one_by_one,
    records,
    send_ext,
    serving,
)

BACK = RequestCode.CONSUMER_SEND_MSG_BACK
MESSAGES = 4
TOPICS = [(f"SCHEDULE_TOPIC_XXXX:{level - 1}") for level in (2, 3, 4, 18)] + ["%DLQ%G:0", "%DLQ%H:0"]


def back(offset: object, level: object = 0, group: str = "G", **more: str) -> dict[str, str]:
    return {"offset": str(offset), "delayLevel": str(level), "group": group, "unitMode": "false", **more}


def requests(places: list[int]) -> list[tuple[dict[str, str], int]]:
    """Any header and flag that a consumer may send."""
    return [
        (back(places[0]), 0),
        (back(places[1], 2, maxReconsumeTimes="16", originTopic="T", originMsgId="x", bname="b"), 0),
        (back(places[2], 99), 0),
        (back(places[3], -1), 0),
        (back(places[3], maxReconsumeTimes="0"), 0),
        (back(places[3], maxReconsumeTimes="1"), 0),
        (back(places[0], group="H"), 0),
        (back(places[0], -1, group="H"), FLAG_ONEWAY),
        (back(places[0]), FLAG_ONEWAY),
        (back(places[1] + 1), 0),
        (back(places[1] + 1), FLAG_ONEWAY),
        (back(-1), 0),
        (back(places[0], group="none"), 0),
        (back(places[0], group="a.b"), 0),
        (back("x"), 0),
        (back("+" + str(places[0])), 0),
        ({"group": "G"}, 0),
        ({}, 0),
    ]


async def places_of(client: Client) -> list[int]:
    """The offsets of some messages."""
    await client.create_topic("T", 2)
    sent = [await client.send("T", b"m%d" % n, tags="A", keys="k", reconsume_times=n % 2) for n in range(MESSAGES)]
    return [int((each.header.ext or {})["msgId"][16:], 16) for each in sent]


async def answers_and_records(store: Path, order: list[int] | None = None) -> tuple[list[Frame], list[Any]]:
    """The outcome of the requests, sent at once with a send among them."""
    (store / "config").mkdir(parents=True)
    text = '{"subscriptionGroupTable":{"none":{"groupName":"none","retryQueueNums":0}}}'
    (store / "config" / "subscriptionGroup.json").write_text(text)
    async with serving(store, listen_port=free_port(), broker_ip1="10.9.8.7", advertised_port=10911) as server:
        client = server.broker()
        all_requests = list(enumerate(requests(await places_of(client))))
        wanted = all_requests if order is None else [all_requests[at] for at in order]
        frames = [client.frame(BACK, ext, flag=flag, opaque=1000 + at) for at, (ext, flag) in wanted]
        middle = client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"between", opaque=2000)
        await client.write(b"".join([*frames[:5], middle, *frames[5:]]))
        answers = sorted(await client.arrived(), key=lambda frame: frame.header.opaque)
        stored: list[Any] = []
        for name in TOPICS:
            topic, _, queue_id = name.partition(":")
            stored += [
                (topic, m.queue_id, m.reconsume_times, m.body, m.sys_flag, m.properties)
                for m in records((await client.pull(topic, queue_id=int(queue_id))).body)
            ]
    return answers, stored


async def test_both_paths_have_the_same_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grouped_answers, grouped_stored = await answers_and_records(tmp_path / "grouped")
    one_by_one(monkeypatch)
    answers, stored = await answers_and_records(tmp_path / "general")
    assert [frame.header for frame in grouped_answers if frame.header.opaque != 2000] == [
        frame.header for frame in answers if frame.header.opaque != 2000
    ]
    assert len(answers) == len(requests([0] * MESSAGES)) - 3 + 1
    assert sorted(grouped_stored) == sorted(stored)
    assert len(stored) == 10


@pytest.mark.usefixtures("sends_by_python")
@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_those_of_one_read_are_one_group(
    server: Server, monkeypatch: pytest.MonkeyPatch, serialize_type: int
) -> None:
    client = server.broker()
    places = await places_of(client)
    groups: list[int] = []
    real = MessageStore.append

    def counted(self: MessageStore, drafts: Any) -> Any:
        groups.append(len(drafts))
        return real(self, drafts)

    monkeypatch.setattr(MessageStore, "append", counted)
    await client.write(b"".join(client.frame(BACK, back(each), serialize_type=serialize_type) for each in places))
    assert [code_and_remark(frame) for frame in await client.arrived()] == [(0, None)] * MESSAGES
    assert groups == [MESSAGES]


async def test_one_that_cannot_be_stored_is_refused_alone(tmp_path: Path) -> None:
    """It fitted a file of the log, but does not with the properties of a retry; the others are stored."""
    async with serving(tmp_path, mapped_file_size_commit_log=16384) as server:
        client = server.broker()
        small = (await places_of(client))[0]
        large = (await client.send("T", b"x" * (16384 - 150))).header.ext or {}
        place = int(large["msgId"][16:], 16)
        wanted = [(small, 0), (place, 0), (place, FLAG_ONEWAY), (small, 0)]
        frames = [client.frame(BACK, back(at), flag=flag, opaque=100 + n) for n, (at, flag) in enumerate(wanted)]
        await client.write(b"".join(frames))
        answers = {frame.header.opaque: code_and_remark(frame) for frame in await client.arrived()}
        assert answers == {100: (0, None), 101: (1, "MESSAGE_ILLEGAL"), 103: (0, None)}
        assert len(records((await client.pull("SCHEDULE_TOPIC_XXXX", queue_id=2)).body)) == 2


async def test_numbers_of_tries_at_javas_limits_are_harmless(broker: Client) -> None:
    (good, *_) = await places_of(broker)
    numbers = (2**31 - 1, -(2**31), -3)
    sent = [(await broker.send("T", b"x", reconsume_times=number)).header.ext or {} for number in numbers]
    places = [good, *(int(ext["msgId"][16:], 16) for ext in sent), good]
    send = broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x")
    backs = [broker.frame(BACK, back(place, maxReconsumeTimes=str(2**31 - 1))) for place in places]
    await broker.write(send + b"".join(backs) + send)
    assert [answer.header.code for answer in await broker.arrived()] == [0] * 7


async def test_a_bug_in_one_affects_no_other(
    broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    places = await places_of(broker)
    real = SendBack.draft

    def failing(self: SendBack, target: Any, fields: Any, version: int) -> Any:
        if fields.offset == places[1]:
            raise ZeroDivisionError("a bug")
        return real(self, target, fields, version)

    monkeypatch.setattr(SendBack, "draft", failing)
    await broker.write(b"".join(broker.frame(BACK, back(place), opaque=at) for at, place in enumerate(places[:3])))
    answers = sorted((answer.header.opaque, code_and_remark(answer)) for answer in await broker.arrived())
    assert answers == [(0, (0, None)), (1, (ResponseCode.SYSTEM_ERROR, "ZeroDivisionError: a bug")), (2, (0, None))]
    assert "ZeroDivisionError" in caplog.text
