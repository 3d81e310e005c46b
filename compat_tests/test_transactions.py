"""Official producers' transactions: each message is committed or rolled back at once, at a back-check, or after all.

The first letters of a message's keys are its producer's answers: at once, and then at each back-check (`Plan`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from compat_tests import remoting
from compat_tests.endpoints import TARGETS
from compat_tests.shared_store import SharedStore
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event
from rocketwire.compat.scenarios.transaction import plan, texts

END_TRANSACTION: Final = 37
RESUME_CHECK: Final = 323
HALF: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
CHECKED_TOO_OFTEN: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TIME_OUT: Final = 2000  # ms
MOST_CHECKS: Final = 3
LATE: Final = 20_000  # ms that a check may be late on a machine that does much else
LONG: Final = "u" * 20
QUICK: Final = {
    "transactionTimeOut": str(TIME_OUT),
    "transactionCheckInterval": "2000",
    "transactionCheckMax": "15",
}


def read(client: Client, topic: str, group: str, count: int) -> list[Event]:
    """All messages of a topic, which should be `count`."""
    return client.only("received", "PullAll", topic=topic, group=group, count=count)


def test_the_end_of_a_decided_transaction(
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
