"""Requests that a broker behind a proxy might read otherwise than the proxy that checks them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from rocketwire.server.upstream.proxy_loops import CODE as LOOP_PROBE
from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from tests.server.acl.test_every_code import ACCOUNTS, ADMIN, OTHER, signed
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    batch_body,
    consumer,
    heartbeat,
    properties_text,
    send_ext,
    settle,
    subscription,
)
from tests.server.proxy.proxied import proxying
from tests.server.proxy.test_bad_servers import brokers


@contextlib.asynccontextmanager
async def recorded(folder: Path, *, accounts: bool = True, **keys: Any) -> AsyncIterator[tuple[Client, list[bytes]]]:
    """A client of a proxy that has accounts, or has none, and the headers that reach the broker behind it."""
    headers: list[bytes] = []
    broker_table = [b""]

    async def serve(stream: trio.SocketStream) -> None:
        frames = FrameReader()
        async for data in stream:
            for frame in frames.receive(memoryview(data))[0]:
                received_header = decode_header(frame.header, frame.serialize_type)
                if received_header.code not in {RequestCode.GET_BROKER_CLUSTER_INFO, LOOP_PROBE}:
                    headers.append(bytes(frame.header))
                if received_header.code == RequestCode.GET_CONSUMER_RUNNING_INFO:  # it is forwarded, as by 4.9.7
                    forwarded = Header(code=received_header.code, opaque=OPAQUE, ext=received_header.ext)
                    await stream.send_all(encode_frame(forwarded, b"", frame.serialize_type))
                header = Header(code=0, opaque=received_header.opaque, flag=FLAG_RESPONSE)
                if not received_header.is_response:
                    await stream.send_all(encode_frame(header, broker_table[0] if received_header.code == 106 else b""))

    file = folder / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        host, port = listener.socket.getsockname()
        broker_table[0] = brokers(f"{host}:{port}")
        address = Address(host=host, port=port)
        async with proxying(folder / "p", address, acl_enable=accounts, acl_file=str(file), **keys) as proxy:
            yield proxy.broker("liar"), headers
        nursery.cancel_scope.cancel()


def framed(header: bytes, body: bytes = b"") -> bytes:
    return (4 + len(header) + len(body)).to_bytes(4) + len(header).to_bytes(4) + header + body


async def test_a_broker_gets_the_header_that_was_checked(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (client, headers):
        ext = signed(OTHER, {"topic": "Own", "queueId": "0"})
        twice = json.dumps({"code": 30, "opaque": 1, "flag": 0, "language": "JAVA", "version": 407})[:-1]
        twice += f', "Code": 3001, "extFields": {json.dumps({**ext, "topic": "Hidden"})}'
        twice += f', "extFields": {json.dumps(ext)}, "ExtFields": {json.dumps({**ext, "topic": "Hidden"})}}}'
        await client.write(framed(twice.encode()))
        assert (await client.receive()).header.code == 0
        (header,) = headers
        assert b"Hidden" not in header
        assert b"3001" not in header
        assert decode_header(memoryview(header), 0).ext == ext  # with the client's own signature


OPAQUE: Final = 9
"""Of the question that the broker of `recorded` has for the client."""


def answer(**more: int) -> bytes:
    fields = {"code": 310, "opaque": OPAQUE, "flag": 1, **more, "language": "JAVA", "version": 407}
    return framed(json.dumps(fields).encode())


async def be_asked(client: Client) -> None:
    """Have the broker ask something of the client."""
    await client.request(
        RequestCode.GET_CONSUMER_RUNNING_INFO, signed(OTHER, {"consumerGroup": "own", "clientId": "c"})
    )


def answers(headers: list[bytes]) -> list[Header]:
    found = [decode_header(memoryview(each), 0) for each in headers]
    return [each for each in found if each.is_response]


async def test_an_answer_is_not_read_as_a_request(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (client, headers):
        await be_asked(client)
        await client.write(answer(Flag=0))
        await settle()
        assert [each.flag for each in answers(headers)] == [FLAG_RESPONSE]
        assert b"Flag" not in headers[-1]


async def test_nobody_answers_what_a_broker_has_asked_others(tmp_path: Path) -> None:
    """Apache's brokers look only at the number, which is easily guessed, and at no signature."""
    async with recorded(tmp_path) as (client, headers):
        await client.write(answer())
        await settle()
        assert headers == []
        await be_asked(client)
        await client.write(answer(opaque=OPAQUE + 1) + answer() + answer())
        await settle()
        assert [each.opaque for each in answers(headers)] == [OPAQUE]


async def test_without_accounts_every_answer_is_passed_on(tmp_path: Path) -> None:
    async with recorded(tmp_path, accounts=False) as (client, headers):
        await client.write(answer())
        await be_asked(client)
        assert [each.opaque for each in answers(headers)] == [OPAQUE]


@pytest.mark.parametrize(
    "body",
    [
        b'{"clientID":"c","consumerDataSet":[{"groupName":"own","GroupName":"hidden"}]}',
        b'{"clientID":"c","consumerDataSet":[{"groupName":"own","group_name":"hidden"}]}',
        b'{"clientID":"c","consumerDataSet":[{"$ref":"$.x"}],"x":{"groupName":"hidden"}}',
    ],
)
async def test_an_ambiguous_body_reaches_no_broker(tmp_path: Path, body: bytes) -> None:
    async with recorded(tmp_path) as (client, headers):
        answer = await client.request(34, signed(OTHER, {"x": "1"}, body), body)
        assert answer.header.code != 0
        assert headers == []


async def test_a_heartbeat_too_long_to_be_checked_reaches_no_broker(tmp_path: Path) -> None:
    async with recorded(tmp_path, max_heartbeat_bytes=1000) as (client, headers):
        body = heartbeat("c", consumer("hidden", subscription("Hidden"))) + b" " * 1000
        answer = await client.request(34, signed(OTHER, {"x": "1"}, body), body)
        assert "maxHeartbeatBytes=1000" in (answer.header.remark or "")
        assert headers == []


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_a_client_gets_no_signature_of_the_proxy(tmp_path: Path, serialize_type: int) -> None:
    """The code of a request is not signed: the same fields could serve for any request in the proxy's name."""
    own: dict[str, Any] = {"upstream_access_key": "proxy-account", "upstream_secret_key": "proxy-secret"}
    async with recorded(tmp_path, **own) as (client, headers):
        ext = {"consumerGroup": "own", "clientId": "c", "jstackEnable": "true"}
        code = RequestCode.GET_CONSUMER_RUNNING_INFO
        answer = await client.request(code, signed(OTHER, ext), serialize_type=serialize_type)
        assert answer.header.code == 0
        assert (decode_header(memoryview(headers[0]), serialize_type).ext or {})["AccessKey"] == "proxy-account"
        (forwarded,) = client.pushes
        assert (forwarded.header.code, forwarded.header.ext) == (code, ext)


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("name", ["INNER_MULTI_DISPATCH", "TIMER_DEL_UNIQKEY"])
@pytest.mark.parametrize("code", [10, 310, 320, 324, 325])
async def test_a_send_that_acts_on_more_than_its_topic_reaches_no_broker(
    tmp_path: Path, code: int, name: str, serialize_type: int
) -> None:
    """5.5.0 cancels a timer message whose topic and unique key are in TIMER_DEL_UNIQKEY, whatever the send's topic."""
    text = properties_text(UNIQ_KEY="U", **{name: "Hidden+V"})
    sends = [(send_ext("Own", short=code not in {10, 324}, properties=text), b"x")]
    if code not in {324, 325}:
        batch = send_ext("Own", short=code != 10, batch=True)
        sends += [(batch, batch_body([b"x", b"y"], text)), (batch, batch_body([b"x"], text) + b"rest")]
    async with recorded(tmp_path) as (client, headers):
        for ext, body in sends:
            found = await client.request(code, signed(OTHER, ext, body), body, serialize_type=serialize_type)
            assert f"the property {name} is not allowed through the proxy" in (found.header.remark or "")
        assert headers == []


async def test_a_send_may_have_the_names_of_these_properties_in_its_texts(tmp_path: Path) -> None:
    words = "INNER_MULTI_DISPATCH TIMER_DEL_UNIQKEY"
    text = properties_text(KEYS=words, MY_TIMER_DEL_UNIQKEY="x")
    sends = [
        (310, send_ext("Own", properties=text), words.encode()),
        (310, send_ext("Own"), properties_text(TIMER_DEL_UNIQKEY="x").encode()),
        (320, send_ext("Own", batch=True), batch_body([words.encode()], text)),
    ]
    async with recorded(tmp_path) as (client, headers):
        for code, ext, body in sends:
            assert (await client.request(code, signed(OTHER, ext, body), body)).header.code == 0
        assert len(headers) == len(sends)


async def test_no_half_message_takes_the_outcome_of_another(tmp_path: Path) -> None:
    """5.5.0 would check the other transaction again, whose message is then stored twice."""
    async with recorded(tmp_path) as (client, headers):
        for properties, passes in (
            ({"TRAN_MSG": "true", "TRAN_PREPARED_QUEUE_OFFSET": "5"}, False),
            ({"TRAN_PREPARED_QUEUE_OFFSET": "5", "TRAN_MSG": "True"}, False),
            ({"TRAN_MSG": "true"}, True),
            ({"TRAN_PREPARED_QUEUE_OFFSET": "5"}, True),  # a consumer forwards a message that was committed
        ):
            ext = signed(OTHER, send_ext("Own", properties=properties_text(**properties), sys_flag=4), b"x")
            before = len(headers)
            found = await client.request(310, ext, b"x")
            assert (found.header.code == 0, len(headers) > before) == (passes, passes)


async def test_an_administrator_may_cancel_any_timer_message(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (client, headers):
        ext = signed(ADMIN, send_ext("Own", properties=properties_text(TIMER_DEL_UNIQKEY="U")), b"x")
        assert (await client.request(310, ext, b"x")).header.code == 0
        assert len(headers) == 1
