"""Request-reply (324, 325): a consumer replies, the broker sends the reply to the requesting producer (326)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.wire.facts.codes import FLAG_RESPONSE, MAX_FRAME_LENGTH, RequestCode, ResponseCode, SysFlag
from rocketwire.wire.frame import Frame
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.send import ReplyMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.properties import decode_properties
from tests.server.harness import (
    BINARY,
    BROKER_PROPERTIES,
    NOW,
    Client,
    FullDisk,
    Server,
    code_and_remark,
    properties_text,
    records,
    send_ext,
    serving,
)
from tests.wire import golden

REPLY_TOPIC = "C_REPLY_TOPIC"
REQUESTED = {"MSG_TYPE": "reply", "REPLY_TO_CLIENT": "requester", "TTL": "3000", "CORRELATION_ID": "id-1"}


async def send_reply(
    replier: Client,
    body: bytes = b"reply",
    *,
    topic: str = REPLY_TOPIC,
    properties: dict[str, str] | None = None,
    short: bool = True,
    **changes: Any,
) -> None:
    """Send a reply, and do not wait for its answer."""
    text = properties_text(**(REQUESTED if properties is None else properties))
    ext = send_ext(topic, short=short, properties=text, **changes)
    code = RequestCode.SEND_REPLY_MESSAGE_V2 if short else RequestCode.SEND_REPLY_MESSAGE
    await replier.write(replier.frame(code, ext, body))


async def requester_of(server: Server, client_id: str = "requester") -> Client:
    requester = server.broker()
    await requester.heartbeat(client_id, producers=["requesters"])
    return requester


async def pushed(requester: Client) -> Frame:
    """The reply that the broker passes on."""
    assert await requester.arrived() == []
    (frame,) = requester.pushes
    requester.pushes = []
    return frame


async def accept(requester: Client, frame: Frame, code: int = 0, **options: Any) -> None:
    """Answer as the official client does: without fields and body."""
    await requester.write(requester.frame(code, None, flag=FLAG_RESPONSE, opaque=frame.header.opaque, **options))


async def stored(client: Client) -> list[bytes]:
    answer = await client.pull(REPLY_TOPIC)
    return [bytes(message.body) for message in records(answer.body)]


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_reply_reaches_the_requester_and_is_stored(server: Server, short: bool, serialize_type: int) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier, short=short, sys_flag=SysFlag.COMPRESSED)
    frame = await pushed(requester)
    assert (frame.header.code, frame.header.flag, bytes(frame.body)) == (326, 0, b"reply")
    assert decode_ext(ReplyMessageRequestHeader, frame.header.ext) == ReplyMessageRequestHeader(
        producer_group="producers",
        topic=REPLY_TOPIC,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=SysFlag.COMPRESSED,
        born_timestamp=NOW - 1,
        flag=0,
        properties=properties_text(**REQUESTED, PUSH_REPLY_TIME=str(NOW)),
        reconsume_times=0,
        unit_mode=False,
        born_host=replier.local,
        store_host=str(server.advertised),
        store_timestamp=NOW,
    )
    assert await replier.arrived() == []
    await accept(requester, frame, serialize_type=serialize_type)
    answer = await replier.receive()
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, None)
    (message,) = records((await replier.pull(REPLY_TOPIC)).body)
    assert answer.header.ext == {
        "msgId": offset_message_id(encode_host(*message.store_host), message.physical_offset),
        "queueId": "0",
        "queueOffset": "0",
        "TRACE_ON": "true",
        "MSG_REGION": "DefaultRegion",
    }
    assert (bytes(message.body), message.sys_flag) == (b"reply", SysFlag.COMPRESSED)
    assert decode_properties(message.properties.decode()) == {**REQUESTED, **BROKER_PROPERTIES}


async def test_a_reply_is_passed_on_as_by_apache(tmp_path: Path) -> None:
    """All that Apache's broker sends to the producer, except times and addresses."""
    capture = golden.Capture("4.9.7", "request_reply")
    handed = [frame.row["header"]["extFields"] for frame in golden.frames(capture) if frame.row["code"] == 326]
    replies = [frame for frame in golden.frames(capture) if frame.row["code"] == 325 and frame.row["kind"] == "request"]
    assert len(handed) == len(replies) > 0
    async with serving(tmp_path, broker_cluster_name="GoldenCluster") as server:
        replier = server.broker()
        for reply, expected in zip(replies, handed, strict=True):
            wanted = decode_properties(expected["properties"])
            requester = await requester_of(server, wanted["REPLY_TO_CLIENT"])
            await replier.write(reply.data)
            frame = await pushed(requester)
            ext = dict(frame.header.ext or {})
            assert decode_properties(ext.pop("properties")) == {**wanted, "PUSH_REPLY_TIME": str(NOW)}
            at = {"bornHost": replier.local, "storeHost": str(server.advertised), "storeTimestamp": str(NOW)}
            assert {**ext, "properties": expected["properties"]} == {**expected, **at}
            await accept(requester, frame)
            assert (await replier.receive()).header.code == 0
            requester.close()


async def test_the_answer_waits_for_the_requester(server: Server) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier)
    frame = await pushed(requester)
    await server.pass_time(9)
    assert await replier.arrived() == []
    assert await stored(server.broker()) == []
    await accept(requester, frame)
    assert code_and_remark(await replier.receive()) == (ResponseCode.SUCCESS, None)


async def test_a_pull_held_on_the_reply_topic_is_woken(server: Server) -> None:
    requester, replier, reader = await requester_of(server), server.broker(), server.broker()
    await reader.hold(REPLY_TOPIC)
    await send_reply(replier)
    await accept(requester, await pushed(requester))
    (answer,) = await reader.arrived()
    assert [bytes(message.body) for message in records(answer.body)] == [b"reply"]


async def refused(replier: Client, remark: str, *, kept: bool = True) -> None:
    """A reply that was not delivered: the answer says so, and contains the offset at which it is stored."""
    answer = await replier.receive()
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, remark)
    assert answer.header.ext is not None
    assert ("msgId" in answer.header.ext) is kept
    assert await stored(replier) == ([b"reply"] if kept else [])


@pytest.mark.parametrize("silent", [True, False])
async def test_the_requester_does_not_accept_the_reply(server: Server, silent: bool) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier)
    frame = await pushed(requester)
    if silent:
        await server.pass_time(10)
    else:
        await accept(requester, frame, ResponseCode.SYSTEM_ERROR)
    await refused(replier, "push reply message to requesterfail.")


async def test_the_requester_leaves_before_it_answers(server: Server) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier)
    await pushed(requester)
    requester.close()
    await refused(replier, "push reply message to requesterfail.")


async def test_a_reply_without_a_requester_is_stored(server: Server) -> None:
    replier = server.broker()
    await send_reply(replier)
    await refused(replier, "push reply message fail, channel of <requester> not found.")


async def test_a_reply_to_an_unknown_client_is_stored(server: Server) -> None:
    replier = server.broker()
    await send_reply(replier, properties={"MSG_TYPE": "reply"})
    await refused(replier, "reply message properties[REPLY_TO_CLIENT] is null")


async def test_a_reply_that_the_broker_would_not_store_is_not_passed_on(server: Server) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier, queue_id=1)
    answer = await replier.receive()
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert (answer.header.remark or "").startswith(
        "request queueId[1] is illegal, TopicConfig [topicName=C_REPLY_TOPIC"
    )
    await requester.arrived()
    assert requester.pushes == []


async def test_the_broker_adds_the_time_of_the_push(server: Server) -> None:
    requester, replier = await requester_of(server), server.broker()
    await send_reply(replier, properties={"PUSH_REPLY_TIME": "1", **REQUESTED})
    handed = decode_ext(ReplyMessageRequestHeader, (await pushed(requester)).header.ext)
    assert decode_properties(handed.properties or "") == {**REQUESTED, "PUSH_REPLY_TIME": str(NOW)}


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("properties", "remark"),
    [
        ({"TRAN_MSG": "true", "PGROUP": "requesters"}, "property TRAN_MSG: a reply has no transaction"),
        ({}, "current message type does not match with topic accept message types"),
    ],
)
async def test_a_message_that_cannot_be_stored_as_a_reply_is_not_passed_on(
    server: Server, properties: dict[str, str], remark: str, batch: bool
) -> None:
    requester, replier = await requester_of(server), server.broker()
    await replier.create_topic("Typed", attributes=f"+message.type={'TRANSACTION' if properties else 'FIFO'}")
    await send_reply(replier, topic="Typed", properties={**REQUESTED, **properties}, batch=batch)
    answer = await replier.receive()
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert (answer.header.remark or "").startswith(remark)
    assert answer.header.ext == {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
    await requester.arrived()
    assert requester.pushes == []
    for topic in ("Typed", "RMQ_SYS_TRANS_HALF_TOPIC"):
        assert records((await replier.pull(topic)).body) == []


async def test_replies_are_not_stored_if_so_configured(server: Server) -> None:
    requester, replier = await requester_of(server), server.broker()
    assert (await replier.set_config(storeReplyMessageEnable="false")).header.code == 0
    await send_reply(replier)
    await accept(requester, await pushed(requester))
    answer = await replier.receive()
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, None)
    assert (answer.header.ext or {})["msgId"] == "0"
    await send_reply(replier, properties={"MSG_TYPE": "reply"})
    await refused(replier, "reply message properties[REPLY_TO_CLIENT] is null", kept=False)


async def test_a_reply_that_arrived_but_could_not_be_stored_counts_as_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    async with serving(tmp_path) as server:
        requester, replier = await requester_of(server), server.broker()
        await send_reply(replier)
        frame = await pushed(requester)
        disk.full = True
        await accept(requester, frame)
        answer = await replier.receive()
        disk.full = False
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, None)
    assert (answer.header.ext or {})["msgId"] == "0"


async def test_a_reply_too_large_to_be_passed_on_is_refused(tmp_path: Path) -> None:
    limit = MAX_FRAME_LENGTH
    async with serving(tmp_path, max_message_size=limit, mapped_file_size_commit_log=64 << 20) as server:
        requester, replier = await requester_of(server), server.broker()
        ext = send_ext(REPLY_TOPIC, properties=properties_text(**REQUESTED))
        size = limit - len(replier.frame(RequestCode.SEND_REPLY_MESSAGE_V2, ext, opaque=1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_reply, replier, bytes(size))
        answer = await replier.receive()
        assert answer.header.code == ResponseCode.SYSTEM_ERROR
        assert "is longer than the limit" in (answer.header.remark or "")
        await requester.arrived()
        assert requester.pushes == []


async def test_each_of_several_replies_reaches_its_requester(server: Server) -> None:
    requesters = [await requester_of(server, f"requester{each}") for each in range(3)]
    replier = server.broker()
    for each in range(3):
        await send_reply(replier, b"%d" % each, properties={**REQUESTED, "REPLY_TO_CLIENT": f"requester{each}"})
    frames = [await pushed(requester) for requester in requesters]
    assert [bytes(frame.body) for frame in frames] == [b"0", b"1", b"2"]
    opaques = []
    for each in (2, 0, 1):
        await accept(requesters[each], frames[each])
        opaques += [answer.header.opaque for answer in await replier.arrived()]
    assert opaques == [3, 1, 2]
    assert await stored(replier) == [b"2", b"0", b"1"]
