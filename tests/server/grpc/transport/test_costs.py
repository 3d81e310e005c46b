"""How long others wait for the most costly allowed requests, each alone and many in one read."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import trio
from google.protobuf.message import Message

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.times import put_duration
from tests.server.grpc.sdk import DIALLED, SERVICE, Sdk, message, topic
from tests.server.grpc.test_access import signed
from tests.server.grpc.transport.bounding import Case, LongestStep, outcome_of
from tests.server.grpc.transport.test_request_bounds import KINDS, MOST_SECONDS, listening
from tests.server.harness import NOW, Server
from tests.slowness import within

GROUP: Final = d.Resource(name="G")
_TEXT: Final = "k" * 30


class Costly(NamedTuple):
    """A request of the highest cost."""

    method: str
    request: Callable[[], Message]


def acknowledgements(*, renewed: bool) -> s.AckMessageRequest:
    """As many deliveries as a call may have, each of another check point."""
    made = s.AckMessageRequest(topic=topic(), group=GROUP)
    for number in range(1024):
        mark = " R" if renewed else ""
        text = f"{number} {NOW} 60000 {number % 8} 0 broker-a {number % 2} {number} {number}{mark}"
        made.entries.add(message_id=f"01{number:032X}", receipt_handle=text)
    return made


def batch() -> s.SendMessageRequest:
    """As many messages as a call may have."""
    made = s.SendMessageRequest()
    for number in range(1024):
        each = message(b"x" * 1000, f"01{number:032X}")
        for name in range(6):
            each.user_properties[str(name)] = _TEXT
        made.messages.append(each)
    return made


def with_keys(keys: int) -> s.SendMessageRequest:
    """Messages with as many keys as the number of fields allows."""
    made = s.SendMessageRequest()
    for number in range(32_000 // keys):
        made.messages.append(message(b"x", f"01{number:032X}", keys=["k"] * (keys - 20)))
    return made


def with_properties() -> s.SendMessageRequest:
    """Messages with the most user properties each, as many as the number of fields allows."""
    made = s.SendMessageRequest()
    for number in range(80):
        each = message(b"x", f"01{number:032X}")
        for name in range(128):
            each.user_properties[f"{name}-{number}"] = _TEXT
        made.messages.append(each)
    return made


def settings(expression: str, count: int) -> s.TelemetryCommand:
    """A consumer's."""
    subscription = d.Subscription(group=GROUP)
    for number in range(count):
        entry = subscription.subscriptions.add(topic=topic(f"T{number}"))
        entry.expression.type, entry.expression.expression = d.TAG, expression
    return s.TelemetryCommand(settings=d.Settings(client_type=d.PUSH_CONSUMER, subscription=subscription))


def publishing() -> s.TelemetryCommand:
    """A producer's."""
    topics = [topic(f"T{number}") for number in range(2048)]
    made = d.Settings(client_type=d.PRODUCER, publishing=d.Publishing(topics=topics))
    steps = made.backoff_policy.customized_backoff.next
    for _ in range(128):
        put_duration(steps.add(), 1000)
    return s.TelemetryCommand(settings=made)


def receive() -> s.ReceiveMessageRequest:
    """With the longest filter of tags."""
    expression = d.FilterExpression(type=d.TAG, expression="||".join(f"t{number}" for number in range(32_000)))
    made = s.ReceiveMessageRequest(group=GROUP, message_queue=d.MessageQueue(topic=topic(), id=-1), batch_size=32)
    made.filter_expression.CopyFrom(expression)
    put_duration(made.invisible_duration, 30_000)
    return made


def routed(kind: Any, addresses: int) -> Message:
    """Of the topic with the most queues."""
    endpoints = d.Endpoints(scheme=d.IPv4, addresses=[DIALLED.addresses[0]] * addresses)
    made: Message = kind(topic=topic("Wide"), endpoints=endpoints)
    if isinstance(made, s.QueryAssignmentRequest):
        made.group.CopyFrom(GROUP)
    return made


TELEMETRY: Final = s.TelemetryCommand(
    settings=d.Settings(subscription=d.Subscription(subscriptions=[d.SubscriptionEntry()] * 1024))
).SerializeToString()
COSTLY: Final = {
    "acks": Costly("AckMessage", lambda: acknowledgements(renewed=False)),
    "acks of renewed deliveries": Costly("AckMessage", lambda: acknowledgements(renewed=True)),
    "a batch": Costly("SendMessage", batch),
    "keys": Costly("SendMessage", lambda: with_keys(16_000)),
    "keys of messages": Costly("SendMessage", lambda: with_keys(1000)),
    "properties": Costly("SendMessage", with_properties),
    "subscriptions": Costly("Telemetry", lambda: settings("*", 1024)),
    "tags": Costly("Telemetry", lambda: settings("||".join(f"t{number}" for number in range(30)), 1024)),
    "tags of one topic": Costly("Telemetry", lambda: settings("||".join(f"t{number}" for number in range(30_000)), 1)),
    "topics of a producer": Costly("Telemetry", publishing),
    "a filter": Costly("ReceiveMessage", receive),
    "a route": Costly("QueryRoute", lambda: routed(s.QueryRouteRequest, 1)),
    "a route beyond the longest answer": Costly("QueryRoute", lambda: routed(s.QueryRouteRequest, 128)),
    "an assignment": Costly("QueryAssignment", lambda: routed(s.QueryAssignmentRequest, 1)),
}


async def prepare(server: Server) -> None:
    """Create the topics."""
    for name, queues in (("T", 2), ("Wide", 16_384)):
        await server.broker().create_topic(name, queues)


def cases() -> Iterator[tuple[str, Case]]:
    for name, costly in COSTLY.items():
        payload = costly.request().SerializeToString()
        yield name, Case(SERVICE + costly.method, name, payload, len(payload), refused=False)


async def longest_steps(kind: str, folder: Path) -> dict[str, float]:
    """How long others wait for each request, in seconds of processor time."""
    found = {}
    async with listening(folder, kind) as (server, address):
        if kind != "serve guarded":
            await prepare(server)
        headers = signed("admin-account") if "guarded" in kind else {}
        for name, case in cases():
            with Sdk(address, name, headers=headers) as sdk, LongestStep() as longest:
                await sdk.call("Heartbeat", s.HeartbeatRequest())
                longest.seconds = 0.0
                await outcome_of(sdk, case)
                found[name] = longest.seconds
        for name, payload in (("AckMessage", b"\x1a\0" * 1024), ("Telemetry", TELEMETRY)):
            with Sdk(address, "many", headers=headers) as sdk, LongestStep() as longest:
                await sdk.call("Heartbeat", s.HeartbeatRequest())
                longest.seconds = 0.0
                await many(sdk, SERVICE + name, payload)
                found[f"many of {name}"] = longest.seconds
    return found


async def many(sdk: Sdk, path: str, payload: bytes) -> None:
    """Have as many calls read at once as one read can have."""
    streams = [sdk.open(path) for _ in range(60_000 // len(payload))]
    for stream in streams:
        sdk.put(stream, payload, end=False)
    await sdk.send_out()
    for stream in streams:
        sdk.http2.end_stream(stream)
    await sdk.send_out()
    for stream in streams:
        await sdk.wait_until_over(stream)


@pytest.fixture
def frozen() -> Iterator[None]:
    """Exclude the tests' objects so far from collections, as a server does with its objects at the start."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("kind", KINDS)
def test_others_wait_shortly_for_the_most_costly_request(kind: str, tmp_path: Path) -> None:
    found = trio.run(longest_steps, kind, tmp_path)  # by the real clock, which the steps read
    late = {name: seconds for name, seconds in found.items() if not within(seconds, MOST_SECONDS)}
    assert late == {}
