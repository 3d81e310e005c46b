"""A real endpoint for the administration commands, and what tests do to it beside them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rocketwire.remoting.admin.offsets import commit_offset
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import ConsumeType, MessageModel, MessageQueue
from rocketwire.wire.bodies.online import ConsumerRunningInfo, ProcessQueueInfo, ResetOffsetBody
from rocketwire.wire.bodies.route import RegisterBrokerBody, encode_registration
from rocketwire.wire.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers.route import RegisterBrokerRequestHeader
from rocketwire.wire.headers.send import SendMessageRequestHeader
from tests.cli.endpoint import Addresses, Command, real_endpoint
from tests.cli.store.support import Ran
from tests.server.harness import NOW, consumer, heartbeat, subscription

SECONDS = 60.0


class Administered:
    """A name server and a broker of the cluster C, and the program with their addresses."""

    def __init__(self, captured: pytest.CaptureFixture[str], addresses: Addresses) -> None:
        self.name_server, self.broker = addresses
        self._command = Command(captured, str(self.name_server))

    def run(self, *arguments: object) -> Ran:
        return self._command(*arguments)

    def done(self, line: str) -> Ran:
        """Run a command that must end well and print nothing on stderr."""
        ran = self.run(*line.split())
        assert (ran.code, ran.err) == (0, ""), ran
        return ran

    def refused(self, line: str, code: int = 1) -> str:
        """What a command that must fail prints on stderr."""
        ran = self.run(*line.split())
        assert (ran.code, ran.out) == (code, ""), ran
        return ran.err.removeprefix("rocketwire: ").rstrip("\n")

    def send(self, topic: str, queue: int, count: int) -> None:
        """Store messages in a queue."""
        fields = SendMessageRequestHeader(
            producer_group="P", topic=topic, queue_id=queue, sys_flag=0, born_timestamp=NOW, flag=0
        )
        with BlockingConnection("broker", self.broker) as broker:
            for number in range(count):
                request = ClientRequest(RequestCode.SEND_MESSAGE_V2, fields, b"message %d" % number)
                answer = broker.answer(broker.send(request))
                assert answer.code == 0, answer

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit a group's offsets by queue, as a member does."""
        with BlockingConnection("broker", self.broker) as broker:
            commit_offset(broker, group, topic, offsets)

    @contextlib.contextmanager
    def second_broker(
        self, name: str, *topics: str, cluster: str = "C", broker_id: int = 0, address: Address | None = None
    ) -> Iterator[None]:
        """Another broker is registered, with these topics; unless an address is given, nothing listens at its own."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            closed = Address(host="127.0.0.1", port=free.getsockname()[1])
        at = str(address or closed)
        fields = RegisterBrokerRequestHeader(
            broker_name=name,
            broker_addr=at,
            cluster_name=cluster,
            ha_server_addr=at,
            broker_id=broker_id,
        )
        table = {topic: TopicConfig(topic_name=topic) for topic in topics}
        body = RegisterBrokerBody(topic_config_serialize_wrapper=TopicConfigSerializeWrapper(topic_config_table=table))
        with BlockingConnection("name server", self.name_server) as connection:
            data = encode_registration(body, compressed=False)
            assert connection.ask(RequestCode.REGISTER_BROKER, fields, body=data).code == 0
            yield


class Member:
    """A consumer that is on line: it reports the queues that it has, and keeps the offsets that it gets."""

    def __init__(self, broker: Address, group: str, topic: str, *, model: MessageModel) -> None:
        self.reported: dict[int, int] = {}
        self.notified = threading.Event()
        self._topic = topic
        self._socket = socket.create_connection((broker.host, broker.port), SECONDS)
        self._joined = threading.Event()
        changes = {"message_model": model, "consume_type": ConsumeType.CONSUME_PASSIVELY}
        body = heartbeat("client-1", consumer(group, subscription(topic), **changes))
        self._socket.sendall(encode_frame(Header(code=RequestCode.HEART_BEAT, opaque=1, version=407), body))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._joined.wait(SECONDS)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(SECONDS)

    def _serve(self) -> None:
        reader = FrameReader()
        with contextlib.suppress(OSError):
            while data := self._socket.recv(1 << 16):
                for frame in reader.receive(memoryview(data))[0]:
                    header = decode_header(frame.header, frame.serialize_type)
                    if header.flag & FLAG_RESPONSE:
                        self._joined.set()
                    elif header.code == RequestCode.GET_CONSUMER_RUNNING_INFO:
                        self._socket.sendall(self._info(header.opaque))
                    elif header.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET:
                        table = decode_body(ResetOffsetBody, frame.body).offset_table
                        self.reported |= {queue.queue_id: offset for queue, offset in table.items()}
                        self.notified.set()

    def _info(self, opaque: int) -> bytes:
        queues = {MessageQueue(topic=self._topic, broker_name="broker-a", queue_id=1): ProcessQueueInfo()}
        body = encode_body(ConsumerRunningInfo(mq_table=queues))
        return encode_frame(Header(code=0, opaque=opaque, flag=FLAG_RESPONSE, version=407), body)


@contextlib.contextmanager
def member(
    endpoint: Administered, group: str, topic: str, *, model: MessageModel = MessageModel.CLUSTERING
) -> Iterator[Member]:
    joined = Member(endpoint.broker, group, topic, model=model)
    try:
        yield joined
    finally:
        joined.close()


@contextlib.contextmanager
def administered(store: Path, captured: pytest.CaptureFixture[str]) -> Iterator[Administered]:
    with real_endpoint(store) as addresses:
        yield Administered(captured, addresses)
