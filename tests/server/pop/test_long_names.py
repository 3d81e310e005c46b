"""Groups and topics with long names: their retry topics have up to 255 characters, as with Apache 5.5.0."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.wire import names
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from tests.server.grpc.consuming.test_receiving import SOON, ack, messages
from tests.server.grpc.sdk import Sdk, code_of, create_group, receive_request
from tests.server.grpc.sdk import topic as resource
from tests.server.harness import Clock, Server, records, serving, serving_topic
from tests.server.pop import requests
from tests.store.offline.support import damages


async def receive(server: Server, sdk: Sdk, topic: str, group: str) -> list[tuple[bytes, int]]:
    """Receive and acknowledge the messages of some seconds; bodies and attempts."""
    stream = await sdk.begin("ReceiveMessage", receive_request(group, to=topic, polling=5), SOON)
    await sdk.rest()
    await server.pass_time(6, step=1)
    await sdk.rest()
    got = messages(sdk.incoming[stream].messages(s.ReceiveMessageResponse))
    if got:
        request = ack(*got)
        request.topic.CopyFrom(resource(topic))
        request.group.name = group
        assert code_of(await sdk.call("AckMessage", request)) is Code.OK
    return [(each.body, each.system_properties.delivery_attempt) for each in got]


@pytest.mark.parametrize(("topic_length", "group_length"), [(64, 56), (127, 120)])
@pytest.mark.parametrize("newer", [False, True])
async def test_an_unacknowledged_message_is_redelivered(
    tmp_path: Path, topic_length: int, group_length: int, *, newer: bool
) -> None:
    topic, group, clock = "t" * topic_length, "g" * group_length, Clock()
    retry = (names.pop_retry_topic_v2 if newer else names.pop_retry_topic)(topic, group)
    async with serving(tmp_path, clock=clock, enable_retry_topic_v2=newer) as server:
        broker = server.broker()
        await broker.create_topic(topic)
        await create_group(broker, group)
        for body in (b"remoting", b"grpc"):
            await broker.send(topic, body)
        (first, _) = (await requests.pop(broker, topic, consumer_group=group)).messages
        assert first.message.topic == topic
        await server.pass_time(12, step=1)
        stored = records((await broker.pull(retry)).body)
        assert [(each.body, each.topic, each.magic) for each in stored] == [
            (b"remoting", retry, MAGIC_V2), (b"grpc", retry, MAGIC_V2)
        ]  # fmt: skip
        (again, _) = (await requests.pop(broker, topic, consumer_group=group)).messages
        assert (again.message.topic, again.message.magic, again.message.reconsume_times) == (topic, MAGIC_V1, 1)
        assert again.topic == retry
        assert (await requests.ack(broker, again)).header.code == 0
        await server.pass_time(12, step=1)
    assert not damages(tmp_path)
    clock.now += 1000
    async with serving(tmp_path, clock=clock, enable_retry_topic_v2=newer) as server:
        with Sdk(server.broker_address) as sdk:
            assert await receive(server, sdk, topic, group) == [(b"grpc", 3)]
            await server.pass_time(40, step=10)
            assert await receive(server, sdk, topic, group) == []


async def test_a_group_with_a_long_name_gets_redeliveries_and_dead_letters(tmp_path: Path) -> None:
    group = "g" * 248
    async with serving_topic(tmp_path, message_delay_level="1s 2s") as (server, broker):
        await create_group(broker, group)
        await broker.send("T", b"x")
        for topic, level, target in (("T", 1, "%RETRY%"), (f"%RETRY%{group}", -1, "%DLQ%")):
            (found,) = records((await broker.pull(topic)).body)
            fields = ConsumerSendMsgBackRequestHeader(
                offset=found.physical_offset, group=group, delay_level=level, origin_topic="T", max_reconsume_times=16
            )
            assert (await broker.request(RequestCode.CONSUMER_SEND_MSG_BACK, encode_ext(fields))).header.code == 0
            await server.pass_time(2, step=0.5)
            (again,) = records((await broker.pull(f"{target}{group}")).body)
            assert (again.body, again.magic) == (b"x", MAGIC_V2)
