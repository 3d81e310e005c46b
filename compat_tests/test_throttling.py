"""Quotas and the official clients: a producer gets one error, a consumer pulls again soon and misses nothing.

All requests go through a port that counts them. A quota of 0 refuses everything, however slow the machine is: one that
lets something pass in a second may have filled up again when a client has started.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests import remoting
from compat_tests.connections import Tap
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event, Outgoing, assert_each_once

VERSIONS = ("4.9.7", "5.5.0")
PULL_MESSAGE, UPDATE_BROKER_CONFIG = 11, 25
SEND_MESSAGE_V2, SEND_BATCH_MESSAGE = 310, 320
FLOW_CONTROL = 215

SENDING = "Rate of message sending reaches limit, please take a control or upgrade the resource specification."
FIRST = Outgoing(body="first")
REFUSED = [Outgoing(body=f"refused {i}") for i in range(5)]

pytestmark = pytest.mark.usefixtures("only_rocketwire")


@dataclass(frozen=True, slots=True)
class Guarded:
    """An endpoint behind a tap."""

    endpoint: Endpoint
    tap: Tap

    def set(self, **settings: str) -> None:
        """Change the broker's configuration."""
        body = "".join(f"{key}={value}\n" for key, value in settings.items()).encode()
        with remoting.Connection(self.endpoint.broker) as connection:
            assert connection.ask(UPDATE_BROKER_CONFIG, body=body).code == 0


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with tempfile.TemporaryDirectory(prefix="compat-") as folder, Tap() as tap:
        settings = {"fastRemoting": "false"}
        with running(Rocketwire(Path(folder), settings=settings, advertise=f"127.0.0.1:{tap.port}")) as endpoint:
            tap.target = int(endpoint.broker.rpartition(":")[2])
            yield Guarded(endpoint, tap)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    number: str = request.param
    return number


@pytest.fixture
def client(clients: Clients, guarded: Guarded, version: str) -> Client:
    return Client(clients=clients, id=f"java-{version}", namesrv=guarded.endpoint.namesrv)


def refusals(happened: list[Event]) -> set[tuple[str, int, str]]:
    return {(event["error"], event["code"], event["message"].split("\n")[0]) for event in events(happened, "refused")}


@pytest.mark.parametrize("scenario", ["SendSync", "SendAsync"])
def test_a_producer_gets_the_refusal_and_does_not_try_again(
    client: Client, guarded: Guarded, topic: str, scenario: str
) -> None:
    assert len(client.only("sent", "SendSync", topic=topic, message=[FIRST])) == 1
    guarded.set(topicQuotas=f"{topic}=0/-")
    requests, answers = guarded.tap.requests[SEND_MESSAGE_V2], guarded.tap.answers[FLOW_CONTROL]
    got = client.run(scenario, topic=topic, message=REFUSED)
    assert refusals(got) == {("MQBrokerException", FLOW_CONTROL, SENDING)}
    assert len(events(got, "refused")) == len(REFUSED)
    assert guarded.tap.requests[SEND_MESSAGE_V2] - requests == len(REFUSED)
    assert guarded.tap.answers[FLOW_CONTROL] - answers == len(REFUSED)
    guarded.set(topicQuotas="")
    read = client.only("received", "PullAll", topic=topic, group="reader", count=1)
    assert_each_once(read, [FIRST])


def test_a_batch_and_the_other_services_wording(client: Client, guarded: Guarded, topic: str) -> None:
    guarded.set(groupQuotas="compat_producer=0/-", throttleWording="flow-control")
    requests = guarded.tap.requests[SEND_BATCH_MESSAGE]
    got = client.run("SendBatch", topic=topic, message=REFUSED)
    guarded.set(groupQuotas="", throttleWording="rate")
    assert refusals(got) == {("MQBrokerException", FLOW_CONTROL, "messages flow control")}
    assert guarded.tap.requests[SEND_BATCH_MESSAGE] - requests == 1


def test_a_push_consumer_gets_all_in_time(client: Client, guarded: Guarded, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"m{i}") for i in range(60)]
    client.run("SendSync", topic=topic, message=messages)
    guarded.set(groupQuotas=f"{group}=-/10")
    answers = guarded.tap.answers[FLOW_CONTROL]
    guarded.tap.first.clear()
    received = client.only("received", "PushConcurrent", topic=topic, group=group, count=60)
    guarded.set(groupQuotas="")
    assert_each_once(received, messages)
    # Pulls of 15 each: the first at once, each of the others when the one before is paid.
    assert max(event["at"] for event in received) - guarded.tap.first[PULL_MESSAGE] >= 3_000
    assert guarded.tap.answers[FLOW_CONTROL] > answers


def test_a_held_pull_is_refused_and_repeated(client: Client, guarded: Guarded, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"m{i}") for i in range(4)]
    guarded.set(groupQuotas=f"{group}=-/1")
    answers = guarded.tap.answers[FLOW_CONTROL]
    got = client.run("PushWhileSending", topic=topic, group=group, message=messages)
    guarded.set(groupQuotas="")
    assert_each_once(events(got, "received"), messages)
    assert guarded.tap.answers[FLOW_CONTROL] > answers
    assert max(event["ms"] for event in events(got, "delay")) < 2_900  # after 3 s it repeats what failed


def test_a_request_of_the_code_of_flow_control_is_no_answer_of_it(client: Client, guarded: Guarded, topic: str) -> None:
    """DELETE_TOPIC_IN_BROKER has the number of FLOW_CONTROL: it is done though sends are refused."""
    guarded.set(topicQuotas=f"{topic}=0/0")
    got = client.run("SendSync", topic=topic, message=REFUSED[:1])
    deleted = remoting.request(guarded.endpoint.broker, FLOW_CONTROL, {"topic": topic})
    guarded.set(topicQuotas="")
    assert refusals(got) == {("MQBrokerException", FLOW_CONTROL, SENDING)}
    assert deleted.code == 0
