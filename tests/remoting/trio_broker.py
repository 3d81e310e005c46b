"""A name server and broker in memory, for trio's mock clock: connections are memory streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import anyio
import pytest
import trio
from anyio.abc import ByteStream

from rocketwire.remoting.aio.channel import AsyncChannel
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.session import ClientSession, RequestReceived, ResponseReceived
from rocketwire.remoting.core.steps import RemoteServer
from rocketwire.remoting.errors import NotReached
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import GetConsumerListByGroupResponseBody, HeartbeatData
from rocketwire.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.message import MessageRecord as Record
from rocketwire.wire.message import encode_record
from tests.cli.endpoint import FakeAnswer

HELD = 15.0
NAME_SERVER = "127.0.0.1:9876"
Records = dict[int, list[Record]]


class _Stream(ByteStream):
    """A stream of trio's as anyio has them."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await self._stream.receive_some(max_bytes)
        if not data:
            raise anyio.EndOfStream
        return bytes(data)

    async def send(self, item: bytes) -> None:
        try:
            await self._stream.send_all(item)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise anyio.BrokenResourceError from error

    async def send_eof(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        await self._stream.aclose()


class Broker:
    """Has the topics of `queues`, by name with the number of queues; keeps its requests, and when they came."""

    def __init__(self, **queues: int) -> None:
        self.queues = queues
        self.members: list[str] = []
        self.others: list[str] = []
        self.records: dict[tuple[str, int], list[Record]] = defaultdict(list)
        self.committed: dict[tuple[str, int], int] = {}
        self.requests: list[tuple[float, int, dict[str, str]]] = []
        self.answers: dict[int, Callable[[dict[str, str]], FakeAnswer | None]] = {}
        self.is_down = False
        self.far: str | None = None
        """The address of a second broker, `a`, which has a queue of each topic, too; it is this one in truth."""
        self.is_far_stuck = False
        self.replies: list[ResponseReceived] = []
        self._arrived = trio.Event()
        self._streams: list[Any] = []
        self._far_streams: list[Any] = []
        self._opaque = 1000

    def install(self, patch: pytest.MonkeyPatch, nursery: trio.Nursery) -> None:
        """Let clients connect to this broker instead of to sockets."""

        async def connect(
            peer: RemoteServer, settings: ClientSettings, on_request: Callable[[AsyncChannel, RequestReceived], None]
        ) -> AsyncChannel:
            await trio.lowlevel.checkpoint()
            if self.is_down:
                raise NotReached(str(peer), "cannot be reached")
            if str(peer.address) == self.far and self.is_far_stuck:
                await trio.sleep(settings.timeout)
                raise NotReached(str(peer), "cannot be reached: no answer in time")
            mine, theirs = trio.testing.memory_stream_pair()
            (self._far_streams if str(peer.address) == self.far else self._streams).append(mine)
            nursery.start_soon(self._serve, mine)
            return AsyncChannel(peer, settings, _Stream(theirs), "192.0.2.7", on_request)

        patch.setattr("rocketwire.remoting.aio.runner.connect", connect)

    def times(self, code: int) -> list[float]:
        """When requests of a code came, to a tenth of a second."""
        return [round(when, 1) for when, each, _ in self.requests if each == code]

    def put(self, topic: str, queue_id: int, body: bytes, **more: Any) -> None:
        """Store a message."""
        records = self.records[topic, queue_id]
        number = len(records)
        records.append(
            Record(
                topic=topic,
                queue_id=queue_id,
                body=body,
                queue_offset=number,
                physical_offset=number * 100,
                store_host=("127.0.0.1", 10911),
                **more,
            )
        )
        self._arrived.set()
        self._arrived = trio.Event()

    async def ask(self, code: int, ext: dict[str, str], body: bytes = b"", *, oneway: bool = False) -> None:
        """Send a request on the last connection that was made: the one to the broker."""
        self._opaque += 1
        header = Header(code=code, opaque=self._opaque, flag=FLAG_ONEWAY if oneway else 0, ext=ext)
        await self._streams[-1].send_all(encode_frame(header, body))

    async def go_down(self) -> None:
        """Close all connections, forget all members and take no new ones."""
        self.is_down = True
        self.members = []
        streams, self._streams = self._streams, []
        for stream in streams:
            await stream.aclose()

    async def lose_far(self) -> None:
        """The second broker's machine is down: nothing refuses connections, either."""
        self.is_far_stuck = True
        for stream in self._far_streams:
            await stream.aclose()

    async def _serve(self, stream: Any) -> None:
        session = ClientSession()
        sending = trio.Lock()
        try:
            async with trio.open_nursery() as nursery:
                while data := await stream.receive_some():
                    found, _ = session.receive(bytes(data))
                    for each in found:
                        if isinstance(each, ResponseReceived):
                            self.replies.append(each)
                        else:
                            nursery.start_soon(self._answer, stream, sending, each)
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def _answer(self, stream: Any, sending: trio.Lock, requested: RequestReceived) -> None:
        self.requests.append((trio.current_time(), requested.code, requested.ext))
        reported = await self._answer_to(requested)
        if reported is None or requested.oneway:
            return
        header = Header(
            code=reported.code, opaque=requested.opaque, flag=FLAG_RESPONSE, remark=reported.remark, ext=reported.ext
        )
        async with sending:
            await stream.send_all(encode_frame(header, reported.body))

    async def _answer_to(self, requested: RequestReceived) -> FakeAnswer | None:  # noqa: C901 - a case for each code
        own = self.answers.get(requested.code)
        if own is not None:
            return own(requested.ext)
        ext = requested.ext
        match requested.code:
            case RequestCode.GET_ROUTEINFO_BY_TOPIC:
                return self._route(ext["topic"])
            case RequestCode.HEART_BEAT:
                client_id = decode_body(HeartbeatData, requested.body).client_id
                self.members = [*{*self.members, client_id}]
            case RequestCode.UNREGISTER_CLIENT:
                self.members.remove(ext["clientID"])
            case RequestCode.GET_CONSUMER_LIST_BY_GROUP:
                members = (*self.members, *self.others)
                return FakeAnswer(body=encode_body(GetConsumerListByGroupResponseBody(consumer_id_list=members)))
            case RequestCode.QUERY_CONSUMER_OFFSET:
                found = self.committed.get((ext["topic"], int(ext["queueId"])))
                return FakeAnswer(22) if found is None else FakeAnswer(0, {"offset": str(found)})
            case RequestCode.UPDATE_CONSUMER_OFFSET:
                self.committed[ext["topic"], int(ext["queueId"])] = int(ext["commitOffset"])
            case RequestCode.GET_MIN_OFFSET:
                return FakeAnswer(0, {"offset": "0"})
            case RequestCode.PULL_MESSAGE:
                return await self._pulled(ext)
            case code if code != RequestCode.CONSUMER_SEND_MSG_BACK:
                return FakeAnswer(3, remark="not supported")
        return FakeAnswer()

    def _route(self, topic: str) -> FakeAnswer:
        if topic not in self.queues:
            return FakeAnswer(17, remark="no route")
        counts = {"b": self.queues[topic]} | ({} if self.far is None else {"a": 1})
        hosts = {"b": "127.0.0.1:10911", "a": self.far or ""}
        brokers = tuple(BrokerData(cluster="c", broker_name=each, broker_addrs={0: hosts[each]}) for each in counts)
        queues = tuple(
            QueueData(broker_name=each, read_queue_nums=count, write_queue_nums=count, perm=6)
            for each, count in counts.items()
        )
        return FakeAnswer(body=encode_body(TopicRouteData(broker_datas=brokers, queue_datas=queues)))

    async def _pulled(self, ext: dict[str, str]) -> FakeAnswer:
        offset, most = int(ext["queueOffset"]), int(ext["maxMsgNums"])
        key = ext["topic"], int(ext["queueId"])
        with trio.move_on_after(HELD):
            while len(self.records[key]) <= offset:
                await self._arrived.wait()
        found = self.records[key][offset : offset + most]
        numbers = {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(offset + len(found)),
            "minOffset": "0",
            "maxOffset": str(len(self.records[key])),
        }
        return FakeAnswer(0 if found else 19, numbers, b"".join(map(encode_record, found)))
