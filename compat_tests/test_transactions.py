"""Official producers' transactions: each message is committed or rolled back at once, at a back-check, or given up.

The first letters of a message's keys are its producer's answers: at once, and then at each back-check (`Plan`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from compat_tests import remoting
from compat_tests.endpoints import TARGETS
from compat_tests.shared_store import SharedStore
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event, Outgoing, by_queue

END_TRANSACTION: Final = 37
RESUME_CHECK: Final = 323
HALF: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
GAVE_UP: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TIME_OUT: Final = 2000  # ms
MOST_CHECKS: Final = 3
LATE: Final = 20_000  # ms that a check may be late on a machine that does much else
LONG: Final = "u" * 20
QUICK: Final = {
    "transactionTimeOut": str(TIME_OUT),
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "15",
}


def plan(keys: str, body: str | None = None, **properties: str) -> Outgoing:
    """A message with its producer's answers in turn: c commit, r rollback, u unknown."""
    return Outgoing(body=body or keys, keys=keys, tags="Tag", flag=7, properties=properties)


def texts(found: list[Event]) -> list[str]:
    """The bodies of messages, sorted."""
    return sorted(event["text"] for event in found)


def read(client: Client, topic: str, group: str, count: int) -> list[Event]:
    """All messages of a topic, which should be `count`."""
    return client.only("received", "PullAll", topic=topic, group=group, count=count)


def test_each_message_has_the_outcome_that_its_producer_says(
    swift: Endpoint, swift_client: Client, group: str, unique: Callable[[str], str]
) -> None:
    client, topic, producers = swift_client, unique("Transactions"), unique("producers")
    client.run("CreateTopic", topic=topic, queues=2)
    messages = [
        plan("c"),
        plan("r"),
        plan("uc"),
        plan("ur"),
        plan("uuc"),
        plan("u"),
        plan("uc", "immune", CHECK_IMMUNITY_TIME_IN_SECONDS="4"),
        Outgoing(body="undelayed", keys="c", tags="Tag", flag=7, delay=18),
    ]
    got = client.run("SendInTransaction", topic=topic, producerGroup=producers, message=messages, checks=8)
    sent = {message.body: event for message, event in zip(messages, events(got, "sent"), strict=True)}
    assert {event["status"] for event in sent.values()} == {"SEND_OK"}
    delivered = read(client, topic, group, 5)
    assert texts(delivered) == ["c", "immune", "uc", "undelayed", "uuc"]
    for event in delivered:
        assert event["msgId"] == sent[event["text"]]["msgId"]
        assert event["queueId"] == sent[event["text"]]["queueId"]
        assert (event["tags"], event["sysFlag"]) == ("Tag", 8)
        assert event["properties"]["PGROUP"]
        assert "DELAY" not in event["properties"]
    for in_queue in by_queue(delivered).values():
        assert [event["queueOffset"] for event in in_queue] == list(range(len(in_queue)))

    checked = events(got, "checked")
    assert [texts(checked).count(body) for body in ("c", "r", "uc", "ur", "uuc", "u", "immune")] == [
        *(0, 0, 1, 1, 2, MOST_CHECKS, 1)
    ]
    for event in checked:
        assert (event["topic"], event["queueId"]) == (topic, sent[event["text"]]["queueId"])
        assert event["transactionId"] == sent[event["text"]]["msgId"]
        assert event["properties"]["WAIT"] == "false"
        age = 4000 if event["text"] == "immune" else TIME_OUT
        assert age <= event["at"] - event["bornTimestamp"] < age + LATE
    counted = [event["properties"]["TRANSACTION_CHECK_TIMES"] for event in checked if event["text"] == "u"]
    assert counted == [str(number + 1) for number in range(MOST_CHECKS)]

    # A reader of the half topic itself sees them: each as often as it was checked, and once more.
    halves = [event["text"] for event in read(client, HALF, group, 0) if event["properties"]["REAL_TOPIC"] == topic]
    assert [halves.count(body) for body in ("c", "r", "uc", "ur", "uuc")] == [1, 1, 2, 2, 3]

    (given_up,) = wait_for_given_up(client, group, sent["u"]["msgId"])
    assert (given_up["text"], given_up["properties"]["REAL_TOPIC"]) == ("u", topic)
    assert given_up["properties"]["TRANSACTION_CHECK_TIMES"] == str(MOST_CHECKS)

    # An administrator may have its producers asked again.
    port = int(swift.broker.rpartition(":")[2])
    offset_id = f"7F000001{port:08X}{given_up['physicalOffset']:016X}"
    assert remoting.request(swift.broker, RESUME_CHECK, {"msgId": offset_id}).code == 0
    got = client.run("SendInTransaction", topic=topic, producerGroup=producers, helper="help", checks=1)
    (checked_again,) = events(got, "checked")
    assert (checked_again["text"], checked_again["transactionId"]) == ("u", sent["u"]["msgId"])
    assert checked_again["properties"]["TRANSACTION_CHECK_TIMES"] == "1"


def wait_for_given_up(client: Client, group: str, message_id: str) -> list[Event]:
    """A message among those that were given up; they come in the round after the last check."""
    end = time.monotonic() + 120
    found: list[Event] = []
    while not found and time.monotonic() < end:
        time.sleep(0.2)
        if remoting.broker_addresses(client.namesrv, GAVE_UP):
            found = [event for event in read(client, GAVE_UP, group, 0) if event["msgId"] == message_id]
    return found


@pytest.mark.parametrize("number", ["4.4.0", "5.5.0"])
def test_producers_of_other_versions(
    clients: Clients, swift_client: Client, group: str, unique: Callable[[str], str], number: str
) -> None:
    client = Client(clients=clients, id=f"java-{number}", namesrv=swift_client.namesrv)
    topic = unique("Transactions")
    client.run("CreateTopic", topic=topic, queues=1)
    messages = [plan("c"), plan("r"), plan("uc"), plan("ur")]
    got = client.run("SendInTransaction", topic=topic, producerGroup=unique("producers"), message=messages, checks=2)
    assert texts(events(got, "checked")) == ["uc", "ur"]
    assert texts(read(client, topic, group, 2)) == ["c", "uc"]


def test_another_producer_of_the_group_is_asked_when_the_first_is_gone(
    swift_client: Client, group: str, unique: Callable[[str], str]
) -> None:
    client, topic = swift_client, unique("Transactions")
    client.run("CreateTopic", topic=topic, queues=1)
    got = client.run(
        "SendInTransaction",
        topic=topic,
        producerGroup=unique("producers"),
        message=[plan("uc")],
        helper="help",
        checks=1,
    )
    assert [event["by"] for event in events(got, "checked")] == ["helper"]
    assert texts(read(client, topic, group, 2)) == ["help", "uc"]


def test_what_is_said_of_a_transaction_that_is_decided(
    target: str, swift: Endpoint, swift_client: Client, group: str, unique: Callable[[str], str]
) -> None:
    """Apache's broker delivers it once more; rocketwire does not."""
    client, topic, producers = swift_client, unique("Transactions"), unique("producers")
    client.run("CreateTopic", topic=topic, queues=1)
    got = client.run("SendInTransaction", topic=topic, producerGroup=producers, message=[plan("uc")], checks=1)
    (checked,) = events(got, "checked")
    right = {
        "producerGroup": producers,
        "tranStateTableOffset": checked["queueOffset"],
        "commitLogOffset": checked["physicalOffset"],
        "commitOrRollback": 8,
        "fromTransactionCheck": "true",
        "msgId": checked["transactionId"],
        "transactionId": checked["transactionId"],
    }
    changes: list[dict[str, str | int]] = [
        {"producerGroup": "others"},
        {"tranStateTableOffset": checked["queueOffset"] + 1},
        {"commitLogOffset": 1 << 40},
        {},
    ]
    answers = [remoting.request(swift.broker, END_TRANSACTION, {**right, **change}) for change in changes]
    assert [(answer.code, answer.remark) for answer in answers] == [
        (1, "The producer group wrong"),
        (1, "The transaction state table offset wrong"),
        (1, "Find prepared transaction message failed"),
        (0, ""),
    ]
    count = 1 if target == "rocketwire" else 2
    assert texts(read(client, topic, group, count)) == ["uc"] * count


def test_a_kill_between_prepare_and_commit(target: str, clients: Clients, tmp_path: Path) -> None:
    topic = "Killed"
    with running(TARGETS[target](tmp_path, settings=QUICK)) as endpoint:
        client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
        client.run("CreateTopic", topic=topic, queues=1)
        messages = [plan("c"), plan("uc"), plan("ur")]
        client.run("SendInTransaction", topic=topic, producerGroup="P", message=messages)
        endpoint.kill()
        endpoint.start()
        got = client.run("SendInTransaction", topic=topic, producerGroup="P", helper="help", checks=2)
        assert set(texts(events(got, "checked"))) == {"uc", "ur"}
        assert texts(read(client, topic, "readers", 3)) == ["c", "help", "uc"]


def test_pending_transactions_go_from_one_broker_to_the_other_and_back(
    target: str, clients: Clients, tmp_path: Path, name_server: ApacheNameServer
) -> None:
    """On Apache's broker alone, it takes the part of both."""
    store = SharedStore(tmp_path, name_server)
    topic = "Handed"
    between = store.rocketwire if target == "rocketwire" else store.apache
    client = Client(clients=clients, id="java-4.9.7", namesrv=name_server.address)
    with store.apache(**QUICK):
        client.run("CreateTopic", topic=topic, queues=1)
        messages = [plan("c"), plan("r"), plan(LONG + "c", "first"), plan(LONG + "r", "second")]
        client.run("SendInTransaction", topic=topic, producerGroup="P", message=messages, checks=2)
    with between(**QUICK) as endpoint:
        client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
        messages = [plan("c", "third"), plan("r"), plan("uc", "fourth"), plan(LONG + "c", "fifth")]
        got = client.run("SendInTransaction", topic=topic, producerGroup="P", message=messages, checks=8)
        assert {"first", "second", "fourth", "fifth"} <= set(texts(events(got, "checked")))
    client = Client(clients=clients, id="java-4.9.7", namesrv=name_server.address)
    with store.apache(**QUICK):
        got = client.run("SendInTransaction", topic=topic, producerGroup="P", helper="help", checks=3, last=1)
        assert texts(events(got, "checked")) == ["fifth", "first", "second"]
        assert texts(read(client, topic, "readers", 6)) == ["c", "fifth", "first", "fourth", "help", "third"]
