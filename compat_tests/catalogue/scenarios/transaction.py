"""Transactions: each message is committed or rolled back at once, at a back-check, or after the last one.

The first letters of a message's keys are its producer's answers: at once, and then at each back-check (`plan`).
"""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Event, Outgoing, by_queue
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.transaction import ResumeCheckHalfMessageRequestHeader
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC

TIME_OUT: Final = 2000  # ms
MOST_CHECKS: Final = 3
LATE: Final = 20_000  # ms that a check may be late on a machine that does much else
_SOURCE: Final = (
    "Apache 4.9, TransactionalMessageServiceImpl and EndTransactionProcessor; "
    "rocketmq.apache.org, Transaction Message Sending"
)


def plan(keys: str, body: str | None = None, **properties: str) -> Outgoing:
    """A message with its producer's answers, one for each check: c commit, r rollback, u unknown."""
    return Outgoing(body=body or keys, keys=keys, tags="Tag", flag=7, properties=properties)


def texts(found: list[Event]) -> list[str]:
    """The bodies of messages, sorted."""
    return sorted(event["text"] for event in found)


@scenario(
    id="transaction.at-once",
    proves="What a producer commits at once is delivered, what it rolls back is not.",
    source=_SOURCE,
    programs=("SendInTransaction",),
)
def at_once(case: Case) -> None:
    topic = case.topic(2, name="Transactions")
    messages = [plan("c", "first"), plan("r"), plan("c", "second")]
    got = case.client.run("SendInTransaction", topic=topic, producerGroup=case.group("producers"), message=messages)
    assert {event["status"] for event in events(got, "sent")} == {"SEND_OK"}
    assert texts(case.read(topic, 2)) == ["first", "second"]


@scenario(
    id="transaction.every-outcome",
    proves="Each message has its producer's outcome, at once or at a back-check; the rest is dropped.",
    source=_SOURCE,
    needs=(Need.SHORT_TRANSACTIONS, Need.ONE_BROKER),
    programs=("SendInTransaction",),
    limit=150,
)
def every_outcome(case: Case) -> None:
    client, topic, producers = case.client, case.topic(2, name="Transactions"), case.group("producers")
    # A client of 5.x refuses a delay itself, a broker of 5.x keeps it; 4.x takes it away.
    takes_delays = not (client.version.startswith("5.") or case.endpoint.is_apache_5)
    messages = [
        plan("c"),
        plan("r"),
        plan("uc"),
        plan("ur"),
        plan("uuc"),
        plan("u"),
        plan("uc", "immune", CHECK_IMMUNITY_TIME_IN_SECONDS="4"),
    ]
    if takes_delays:
        messages.append(Outgoing(body="undelayed", keys="c", tags="Tag", flag=7, delay=18))
    got = client.run("SendInTransaction", topic=topic, producerGroup=producers, message=messages, checks=8)
    sent = {message.body: event for message, event in zip(messages, events(got, "sent"), strict=True)}
    assert {event["status"] for event in sent.values()} == {"SEND_OK"}
    wanted = ["c", "immune", "uc", *["undelayed"] * takes_delays, "uuc"]
    delivered = case.read(topic, len(wanted))
    assert texts(delivered) == wanted
    for event in delivered:
        assert event["msgId"] == sent[event["text"]]["msgId"]
        assert event["queueId"] == sent[event["text"]]["queueId"]
        assert (event["tags"], event["sysFlag"]) == ("Tag", 8)
        assert event["properties"][names.PRODUCER_GROUP]
        assert names.DELAY not in event["properties"]
    for in_queue in by_queue(delivered).values():
        assert [event["queueOffset"] for event in in_queue] == list(range(len(in_queue)))

    checked = events(got, "checked")
    assert [texts(checked).count(body) for body in ("c", "r", "uc", "ur", "uuc", "u", "immune")] == [
        *(0, 0, 1, 1, 2, MOST_CHECKS, 1)
    ]
    for event in checked:
        assert (event["topic"], event["queueId"]) == (topic, sent[event["text"]]["queueId"])
        assert event["transactionId"] == sent[event["text"]]["msgId"]
        assert event["properties"][names.WAIT] == "false"
        age = 4000 if event["text"] == "immune" else TIME_OUT
        assert age <= event["at"] - event["bornTimestamp"] < age + LATE
    counted = [event["properties"][names.TRANSACTION_CHECK_TIMES] for event in checked if event["text"] == "u"]
    assert counted == [str(number + 1) for number in range(MOST_CHECKS)]

    # A reader of the half topic itself sees them: each as often as it was checked, and once more.
    halves = [
        event["text"] for event in case.read(TRANS_HALF_TOPIC, 0) if event["properties"][names.REAL_TOPIC] == topic
    ]
    assert [halves.count(body) for body in ("c", "r", "uc", "ur", "uuc")] == [1, 1, 2, 2, 3]

    dropped = _dropped(case, sent["u"]["msgId"])
    assert (dropped["text"], dropped["properties"][names.REAL_TOPIC]) == ("u", topic)
    assert dropped["properties"][names.TRANSACTION_CHECK_TIMES] == str(MOST_CHECKS)

    # An administrator may have the broker check it with its producers again.
    host, _, port = dropped["storeHost"].removeprefix("/").rpartition(":")
    fields = ResumeCheckHalfMessageRequestHeader(
        msg_id=offset_message_id(encode_host(host, int(port)), dropped["physicalOffset"])
    )
    with case.endpoint.access.cluster() as cluster:
        (broker,) = cluster.all_brokers().values()
        broker.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, fields)
    got = client.run("SendInTransaction", topic=topic, producerGroup=producers, helper="help", checks=1)
    (checked_again,) = events(got, "checked")
    assert (checked_again["text"], checked_again["transactionId"]) == ("u", sent["u"]["msgId"])
    assert checked_again["properties"][names.TRANSACTION_CHECK_TIMES] == "1"


def _dropped(case: Case, message_id: str) -> Event:
    """A message among those that were dropped; they come in the round after the last check."""
    found: list[Event] = []

    def look() -> bool:
        if case.has_topic(TRANS_CHECK_MAX_TIME_TOPIC):  # brokers make it when they first need it
            found[:] = [event for event in case.read(TRANS_CHECK_MAX_TIME_TOPIC, 0) if event["msgId"] == message_id]
        return bool(found)

    case.wait_until(look, "a message that was checked too often is dropped")
    (only,) = found
    return only


@scenario(
    id="transaction.checked",
    proves="A producer that has not decided gets another back-check, and its answer counts.",
    source=_SOURCE,
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("SendInTransaction",),
)
def checked(case: Case) -> None:
    topic = case.topic(1, name="Transactions")
    messages = [plan("c"), plan("r"), plan("uc"), plan("ur")]
    producers = case.group("producers")
    got = case.client.run("SendInTransaction", topic=topic, producerGroup=producers, message=messages, checks=2)
    assert texts(events(got, "checked")) == ["uc", "ur"]
    assert texts(case.read(topic, 2)) == ["c", "uc"]


@scenario(
    id="transaction.another-producer",
    proves="Once a producer has left, another one of its group gets the back-checks.",
    source="Apache 4.9, AbstractTransactionalMessageCheckListener and ProducerManager.getAvailableChannel",
    needs=(Need.SHORT_TRANSACTIONS,),
    programs=("SendInTransaction",),
)
def another_producer(case: Case) -> None:
    topic, producers = case.topic(1, name="Transactions"), case.group("producers")
    got = case.client.run(
        "SendInTransaction", topic=topic, producerGroup=producers, message=[plan("uc")], helper="help", checks=1
    )
    assert [event["by"] for event in events(got, "checked")] == ["helper"]
    assert texts(case.read(topic, 2)) == ["help", "uc"]
