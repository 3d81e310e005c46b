"""Pop: consumers of 5.x that leave it to the broker which queues they have, and whether they pull or pop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing, assert_each_once, by_queue
from rocketwire.compat.scenario import Need, scenario
from rocketwire.compat.scenarios.retry import LATE, failing, send, tries
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.assignment import MessageRequestMode, SetMessageRequestModeRequestBody
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import RequestCode

_SOURCE: Final = (
    "Apache 5.5, QueryAssignmentProcessor, RebalanceImpl and ConsumeMessagePopConcurrentlyService; "
    "rocketmq.apache.org, Consumer Load Balancing"
)
_FIRST_RETRY: Final = 10_000  # ms, of the Java client
QUICK: Final[Mapping[str, str]] = {"JAVA_TOOL_OPTIONS": "-Drocketmq.client.rebalance.waitInterval=1000"}
"""The Java client queries its queues every 20 s."""


of_pop = partial(
    scenario,
    source=_SOURCE,
    needs=(Need.POP,),
    background=("SendSync",),
    environment=QUICK,
    clients=("java-5.5.0",),
    limit=120,
)


def pops(case: Case, topic: str, group: str, *, share: int = 0) -> None:
    """Have a group pop a topic at all brokers, each client from its own queues and those of so many others."""
    mode = SetMessageRequestModeRequestBody(
        topic=topic, consumer_group=group, mode=MessageRequestMode.POP, pop_share_queue_num=share
    )
    with case.endpoint.access.cluster() as cluster:
        for broker in cluster.all_brokers().values():
            broker.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=encode_body(mode))


@of_pop(
    id="pop.push-consumer",
    proves="A push consumer whose group pops gets each message once; the next consumer of the group gets none of them.",
    programs=("PushConcurrent",),
)
def push_consumer(case: Case) -> None:
    topic, group = case.topic(), case.group()
    pops(case, topic, group)
    for part in ("first", "second"):
        messages = [Outgoing(body=f"{part} {i}", tags="T", keys=f"{part}-{i}") for i in range(40)]
        send(case, topic, messages)
        received = case.client.only(
            "received", "PushConcurrent", topic=topic, group=group, rebalance="broker", count=40, settle=1_000
        )
        assert_each_once(received, messages)
        assert all(names.POP_CK in event["properties"] for event in received)


@of_pop(
    id="pop.shared-queues",
    proves="With popShareQueueNum a lone push consumer gets the messages of all queues.",
    programs=("PushConcurrent",),
)
def shared_queues(case: Case) -> None:
    topic, group = case.topic(), case.group()
    pops(case, topic, group, share=1)
    messages = [Outgoing(body=f"shared {i}") for i in range(20)]
    send(case, topic, messages)
    received = case.client.only(
        "received", "PushConcurrent", topic=topic, group=group, rebalance="broker", count=20, settle=1_000
    )
    assert_each_once(received, messages)


@of_pop(
    id="pop.fails-and-comes-again",
    proves="A message that a popping consumer fails is redelivered after 10 s, as a second try, with its topic.",
    programs=("PushFailing",),
    limit=150,
)
def fails_and_is_redelivered(case: Case) -> None:
    topic, group = case.topic(2), case.group()
    pops(case, topic, group)
    messages = [failing("fine", 0), failing("later", 1), failing("by-throwing", 1, how="throw")]
    sent = send(case, topic, messages)
    received = case.client.only(
        "received", "PushFailing", topic=topic, group=group, rebalance="broker", count=5, settle=1_000
    )
    assert Counter(event["text"] for event in received) == {"fine": 1, "later": 2, "by-throwing": 2}
    for event in received:
        assert (event["topic"], event["msgId"]) == (topic, sent[event["text"]]["msgId"])
        assert event["keys"] == f"key-{event['text']}"
    for body in ("later", "by-throwing"):
        first, second = tries(received, body)
        assert (first["reconsumeTimes"], second["reconsumeTimes"]) == (0, 1)
        assert _FIRST_RETRY - 100 < second["at"] - first["at"] < _FIRST_RETRY + LATE


@of_pop(
    id="pop.orderly-pulls",
    proves="An orderly push consumer pulls, though its group pops, and gets each queue's messages in their order.",
    source="Apache 5.5, RebalancePushImpl.clientRebalance",
    programs=("PushOrderly",),
    background=("SendBySelector",),
    environment={},
)
def orderly_pulls(case: Case) -> None:
    topic, group = case.topic(), case.group()
    pops(case, topic, group)
    messages = [Outgoing(body=f"order {i % 4} step {i // 4}", queue=i % 4) for i in range(40)]
    case.doing("SendBySelector").run("SendBySelector", topic=topic, message=messages)
    got = case.client.run("PushOrderly", topic=topic, group=group, rebalance="broker", count=40)
    received = events(got, "received")
    assert_each_once(received, messages)
    for queue, in_queue in by_queue(received).items():
        assert [event["text"] for event in in_queue] == [f"order {queue} step {i}" for i in range(10)]
        assert all(names.POP_CK not in event["properties"] for event in in_queue)


@of_pop(
    id="pop.pulls-by-default",
    proves="A push consumer that leaves its queues to the broker pulls them where no other mode is set.",
    programs=("PushConcurrent",),
)
def pulls_by_default(case: Case) -> None:
    topic, group = case.topic(), case.group()
    messages = [Outgoing(body=f"pulled {i}") for i in range(20)]
    send(case, topic, messages)
    received = case.client.only("received", "PushConcurrent", topic=topic, group=group, rebalance="broker", count=20)
    assert_each_once(received, messages)
    assert all(names.POP_CK not in event["properties"] for event in received)
