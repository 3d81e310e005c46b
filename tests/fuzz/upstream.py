"""Any answers of a name server or a broker to a proxy, and of a name server to a broker that registers there.

An input is a list of answers, each after `ANSWER`, with `BODY` between its header and its body; a header that begins
with 1 is a binary one. Each is the answer to the next request to a name server and broker that the proxy and another
broker have; the text OPAQUE in a header stands for the number of the request. An empty one ends the connection. Later
requests get honest answers. Bit 0 of the first byte has the upstream send requests beside each answer, bit 1 has the
broker lack POP.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from rocketwire.wire.addresses import Address
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.header import Header, decode_header
from tests.fuzz.loop import running
from tests.fuzz.part import Check, Part
from tests.fuzz.sessions import BODY, FRAME, framed, kept_errors
from tests.server.grpc.sdk import Sdk, consumer_settings, message, receive_request, send_request, topic
from tests.server.harness import (
    Client,
    Server,
    consumer,
    heartbeat,
    mock_clock,
    send_ext,
    serving,
    settle,
    subscription,
)
from tests.server.proxy.proxied import Proxy, proxying

ANSWER: Final = FRAME

_SENDS_REQUESTS, _WITHOUT_POP = 1, 2
_POP_CODES: Final = frozenset({RequestCode.POP_MESSAGE, RequestCode.GET_TOPIC_CONFIG})
_STEP_SECONDS: Final = 20.0
_LATE_SECONDS: Final = 120.0
"""Longer than any answer is kept."""


class Upstream:
    """A name server and broker."""

    def __init__(self) -> None:
        self.address: Address
        self.answers: list[bytes] = []
        self.options = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve."""
        async with trio.open_nursery() as nursery:
            (listener,) = await nursery.start(partial(trio.serve_tcp, self._serve, 0, host="127.0.0.1"))
            self.address = Address(host="127.0.0.1", port=listener.socket.getsockname()[1])
            yield
            nursery.cancel_scope.cancel()

    async def _serve(self, stream: trio.SocketStream) -> None:
        frames = FrameReader()
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for data in stream:
                for frame in frames.receive(memoryview(data))[0]:
                    try:
                        header = decode_header(frame.header, frame.serialize_type)
                    except WireError:
                        return
                    reported = b"" if header.is_response else self._answer_to(header)
                    if reported is None:
                        return
                    await stream.send_all(reported)

    def _answer_to(self, header: Header) -> bytes | None:
        own = encode_frame(Header(code=RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, opaque=1, flag=2), b"")
        before = own if self.options & _SENDS_REQUESTS else b""
        if self.answers:
            answer = self.answers.pop(0)
            return before + framed(answer.replace(b"OPAQUE", b"%d" % header.opaque)) if answer else None
        if self.options & _WITHOUT_POP and header.code in _POP_CODES:
            return encode_frame(
                Header(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, opaque=header.opaque, flag=FLAG_RESPONSE)
            )
        return before + encode_frame(
            Header(code=0, opaque=header.opaque, flag=FLAG_RESPONSE), honest_body(header.code, str(self.address))
        )


def honest_body(code: int, address: str) -> bytes:
    """What a name server has of a topic of one broker, and of the cluster."""
    broker = {"brokerAddrs": {"0": address}, "brokerName": "b", "cluster": "C"}
    queues = {"brokerName": "b", "perm": 6, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0}
    if code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
        return json.dumps({"brokerDatas": [broker], "queueDatas": [queues], "filterServerTable": {}}).encode()
    if code == RequestCode.GET_BROKER_CLUSTER_INFO:
        return json.dumps({"brokerAddrTable": {"b": broker}, "clusterAddrTable": {"C": ["b"]}}).encode()
    return b""


class Lied:
    """A proxy and a broker that are lied to."""

    def __init__(self, upstream: Upstream, proxy: Proxy, server: Server) -> None:
        self._upstream = upstream
        self._proxy = proxy
        self._server = server
        self._port = proxy.address("b")

    async def check(self, data: bytes) -> None:
        """Have the answers of an input sent; proxy and broker live, and continue with honest ones."""
        first, *answers = data.split(ANSWER)
        self._upstream.options = first[0] if first else 0
        self._upstream.answers = answers
        await _pass(_STEP_SECONDS)
        await self._send_by_remoting()
        await self._call_by_grpc()
        await _pass(_STEP_SECONDS)
        await self._send_to_the_broker()
        self._upstream.answers = []
        self._upstream.options = 0
        await _pass(_LATE_SECONDS, steps=3)
        with contextlib.closing(Client(self._proxy.standing.listened)) as names:
            answer = await names.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
            assert answer.header.code == 0
            assert str(self._port.port).encode() in bytes(answer.body)
        with contextlib.closing(Client(self._port)) as broker:
            assert (await broker.send("T")).header.code == 0
        with contextlib.closing(self._server.broker()) as client:
            assert (await client.request(RequestCode.GET_BROKER_CONFIG)).header.code == 0

    async def _send_by_remoting(self) -> None:
        with contextlib.closing(Client(self._proxy.standing.listened)) as names:
            for code in (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO):
                await _said(names, code, {"topic": "T"})
        with contextlib.closing(Client(self._port)) as broker:
            await _said(broker, RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"body")

    async def _call_by_grpc(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError), Sdk(self._proxy.standing.listened) as sdk:
            await sdk.telemetry(consumer_settings("T"))
            await sdk.rest()
            calls = (
                ("QueryRoute", s.QueryRouteRequest(topic=topic("T"), endpoints=d.Endpoints(scheme=d.IPv4))),
                ("SendMessage", send_request(message())),
                ("Heartbeat", s.HeartbeatRequest(group=d.Resource(name="G"), client_type=d.PUSH_CONSUMER)),
                ("ReceiveMessage", receive_request()),
            )
            for name, request in calls:
                await sdk.begin(name, request, {"grpc-timeout": "5S"})
                await sdk.rest()
            await _pass(_STEP_SECONDS)
            await sdk.rest()

    async def _send_to_the_broker(self) -> None:
        with contextlib.closing(self._server.broker()) as client:
            await _said(client, RequestCode.HEART_BEAT, {}, heartbeat("c", consumer("G", subscription("T"))))
            requested = {"topic": "T", "consumerGroup": "G", "clientId": "c", "strategyName": "AVG"}
            body = json.dumps({**requested, "messageModel": "CLUSTERING"}).encode()
            for _ in range(2):
                await _said(client, RequestCode.QUERY_ASSIGNMENT, None, body)
                await _pass(1)


async def _said(client: Client, code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> list[Frame]:
    """What comes when a request is sent, whatever it is."""
    try:
        await client.write(client.frame(code, ext, body))
        return await client.arrived()
    except (BrokenPipeError, ConnectionResetError, WireError):
        return []


async def _pass(seconds: float, steps: int = 1) -> None:
    for _ in range(steps):
        await settle()
        mock_clock().jump(seconds / steps)
        await settle()


@contextlib.asynccontextmanager
async def lied_to(folder: Path) -> AsyncIterator[Lied]:
    """A proxy and a broker in front of servers that lie."""
    upstream = Upstream()
    async with upstream.running(), AsyncExitStack() as stack:
        serve = serving(folder / "store", name_server=None, name_servers=(upstream.address,))
        server = await stack.enter_async_context(serve)
        proxy = await stack.enter_async_context(proxying(folder / "proxy", upstream.address))
        client = server.broker()
        await client.create_topic("T", 2)
        client.close()
        yield Lied(upstream, proxy, server)


@contextmanager
def opened() -> Iterator[Check]:
    """With a proxy and a broker."""
    with kept_errors() as errors, tempfile.TemporaryDirectory() as folder, running() as loop:
        stack = AsyncExitStack()
        lied = loop.run(stack.enter_async_context, lied_to(Path(folder)))

        def check(data: bytes) -> None:
            errors.found.clear()
            loop.run(lied.check, data)
            assert not errors.found, "\n".join(errors.found)

        try:
            yield check
        finally:
            loop.run(stack.aclose)


def answer(body: bytes, *, code: int = 0, ext: str = "{}") -> bytes:
    """An answer in an input."""
    header = b'{"code":%d,"extFields":%b,"flag":1,"language":"JAVA","opaque":OPAQUE,"version":407}' % (
        code,
        ext.encode(),
    )
    return ANSWER + header + BODY + body


def seeds() -> Iterator[bytes]:
    """Lies that are written by hand."""
    cluster = honest_body(RequestCode.GET_BROKER_CLUSTER_INFO, "127.0.0.1:1")
    route = honest_body(RequestCode.GET_ROUTEINFO_BY_TOPIC, "127.0.0.1:1")
    hosts = ["localhost:1", "no such name:1", "\\u0000:1", "a" * 300 + ":1", "h:" + "9" * 5000, "[::1%\\u0000]:1", ":"]
    for place, host in enumerate(hosts):
        yield b"%c" % place + answer(cluster.replace(b"127.0.0.1:1", host.encode())) * 9
        yield b"%c" % place + answer(route.replace(b"127.0.0.1:1", host.encode())) * 9
    numbers = route.replace(b'Nums": 1', b'Nums": 2147483647')
    yield b"\0" + answer(numbers) * 9
    yield b"\2" + answer(numbers) * 9
    yield b"\0" + answer(route.replace(b'"0"', b'"-9223372036854775808"')) * 9
    yield b"\0" + answer(b"{}") * 9
    yield b"\0" + answer(b'{"brokerDatas":null,"queueDatas":{},"brokerAddrTable":[]}') * 9
    yield b"\0" + answer(b'{"brokerAddrs":{' * 100) * 9
    yield b"\0" + answer(b"[" * 1000) * 9
    for code in (-1, 2, 3, 17, 1 << 31):
        yield b"\1" + answer(b"x", code=code, ext='{"popTime":"x","nextBeginOffset":"99999999999999999999"}') * 9
    yield b"\0" + ANSWER * 20
    yield b"\0" + (ANSWER + b"no header" + BODY + b"x") * 9
    yield b"\0" + answer(cluster).replace(b"OPAQUE", b"2147483647") * 9
    yield b"\0" + answer(cluster).replace(b'"flag":1', b'"flag":0') * 9
    offsets = '{"offset":"5","nextBeginOffset":"9223372036854775807","minOffset":"-5","maxOffset":"9"}'
    yield b"\2" + answer(b'{"lockOKMQSet":[{"topic":"X","brokerName":"b","queueId":7}]}', ext=offsets) * 30


PART = Part(
    opened=opened,
    seeds=seeds,
    words=[
        ANSWER,
        BODY,
        *('"brokerAddrs"', '"brokerName"', '"queueDatas"', '"brokerDatas"', '"brokerAddrTable"', '"readQueueNums"'),
        *("OPAQUE", '"code":', '"extFields":', '"nextBeginOffset"', '"popTime"', "127.0.0.1:1", "-2147483648"),
    ],
    longest=40_000,
)
