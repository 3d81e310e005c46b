from __future__ import annotations

from typing import Any

import pytest

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.net.session import Session
from rocketwire.wire.facts.codes import FLAG_RESPONSE, VERSION_4_9_7, PullSysFlag, RequestCode
from rocketwire.wire.header import Header
from rocketwire.wire.headers.offset import QueryConsumerOffsetResponseHeader
from tests.server.harness import (
    BINARY,
    Client,
    FakePeer,
    Server,
    consumer,
    pull_ext,
    send_ext,
    settle,
    subscription,
)

FIELDS = QueryConsumerOffsetResponseHeader(offset=5)


def test_a_held_request_keeps_what_its_answer_needs() -> None:
    header = Header(code=11, opaque=7, flag=2, language="GO", version=407, remark="r", ext={"a": "b"})
    peer = FakePeer()
    request: Request[Any] = Request(
        peer=peer, header=header, serialize_type=BINARY, body=memoryview(b"body"), fields={"a": "b"}
    )
    held = request.held()
    assert held == Request(
        peer=peer,
        header=Header(code=11, opaque=7, flag=2),
        serialize_type=BINARY,
        body=memoryview(b""),
        fields=None,
    )
    assert held.peer is peer


@pytest.mark.parametrize(
    ("code", "ext"),
    [
        (RequestCode.SEND_REPLY_MESSAGE_V2, send_ext("C_REPLY_TOPIC", properties="REPLY_TO_CLIENT\x01one")),
        (RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G", "clientId": "one"}),
        (RequestCode.CONSUME_MESSAGE_DIRECTLY, {"consumerGroup": "G", "clientId": "one"}),
        (RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "T", "group": "G"}),
        (RequestCode.PULL_MESSAGE, pull_ext("T", 1, sys_flag=PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION)),
    ],
)
async def test_no_held_request_keeps_its_body(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, code: RequestCode, ext: dict[str, str]
) -> None:
    """A body may have 16 MiB, and a request may be held for 10 s and more."""
    answered: list[Request[Any]] = []
    real = Session.reply

    def noting(self: Session, request: Request[Any], reply: Reply) -> None:
        answered.append(request)
        real(self, request, reply)

    monkeypatch.setattr(Session, "reply", noting)
    member = server.broker()
    await member.heartbeat("one", consumer("G", subscription("T")), producers=["P"])
    sent = await broker.send("T")
    if code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
        ext = {**ext, "msgId": (sent.header.ext or {})["msgId"]}
    await broker.write(broker.frame(code, ext, bytes(1 << 20), opaque=77))
    await settle()
    assert answered == []
    await server.pass_time(15.1)
    (answer,) = await broker.arrived()
    assert answer.header.opaque == 77
    (held,) = answered
    assert (bytes(held.body), held.header.ext, held.fields) == (b"", None, None)


@pytest.mark.parametrize(
    ("reply", "ext"),
    [
        (Reply(), None),
        (Reply(ext={}), {}),
        (Reply(ext={"a": "b"}), {"a": "b"}),
        (Reply(fields=FIELDS), {"offset": "5"}),
        (Reply(fields=FIELDS, ext={"a": "b"}), {"offset": "5", "a": "b"}),
    ],
)
def test_an_answer_has_its_header(reply: Reply, ext: dict[str, str] | None) -> None:
    expected = Header(code=0, opaque=7, flag=FLAG_RESPONSE, version=VERSION_4_9_7, ext=ext)
    assert reply.header(7) == expected
