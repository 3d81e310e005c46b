"""What groups popped in order, and how they request messages, goes from Apache 5.5.0 to rocketwire and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests import remoting
from compat_tests.remoting import Answer, Connection
from compat_tests.shared_store import POPPING, SharedStore
from compat_tests.store_traffic import create_topic
from rocketwire.compat.brokers.apache import ApacheNameServer
from rocketwire.wire.facts.codes import RequestCode

TOPIC: Final = "Ordered"
LONG: Final = 600_000  # ms
WITHOUT_RESULT: Final = 210


@pytest.fixture
def store(tmp_path: Path, name_server: ApacheNameServer) -> SharedStore:
    """A new store."""
    return SharedStore(tmp_path, name_server)


def send(connection: Connection, count: int) -> None:
    """Messages for the one queue."""
    for number in range(count):
        answer = connection.ask(*remoting.send(TOPIC, f"m{number}".encode()))
        assert answer.code == 0, answer


def pop(connection: Connection, most: int, attempt: str) -> Answer:
    """Pop in order."""
    fields: dict[str, str | int] = {"consumerGroup": "g", "topic": TOPIC, "queueId": 0, "maxMsgNums": most}
    fields |= {"invisibleTime": LONG, "pollTime": 0, "bornTime": 0, "initMode": 0, "order": "true"}
    fields["attemptId"] = attempt
    return connection.ask(RequestCode.POP_MESSAGE, fields)


def handle(popped: Answer, offset: int) -> str:
    """The handle of a message, as clients make it."""
    start = popped.fields["startOffsetInfo"].split()[2]
    parts = (start, popped.fields["popTime"], popped.fields["invisibleTime"], 999, 0, "broker-a", 0, offset)
    return " ".join(map(str, parts))


def ack(connection: Connection, popped: Answer, offset: int) -> int:
    """Acknowledge a message; the response code."""
    fields: dict[str, str | int] = {"consumerGroup": "g", "topic": TOPIC, "queueId": 0, "offset": offset}
    fields["extraInfo"] = handle(popped, offset)
    return connection.ask(RequestCode.ACK_MESSAGE, fields).code


def committed(connection: Connection) -> str:
    """The group's offset."""
    fields: dict[str, str | int] = {"consumerGroup": "g", "topic": TOPIC, "queueId": 0}
    return connection.ask(RequestCode.QUERY_CONSUMER_OFFSET, fields).fields["offset"]


def set_mode(connection: Connection, group: str, mode: str, share: int) -> None:
    """Set how a group requests messages."""
    body = {"topic": TOPIC, "consumerGroup": group, "mode": mode, "popShareQueueNum": share}
    answer = connection.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=json.dumps(body).encode())
    assert answer.code == 0, answer


def modes(connection: Connection) -> dict[str, tuple[str, int]]:
    """The request modes of all groups."""
    answer = connection.ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    found: dict[str, dict[str, Any]] = json.loads(answer.body)["messageRequestModeMap"][TOPIC]
    return {group: (each["mode"], each["popShareQueueNum"]) for group, each in found.items()}


def batch(store: SharedStore) -> tuple[str, list[int], int, dict[str, int]]:
    """The content of consumerOrderInfo.json about the queue."""
    document = store.config("consumerOrderInfo.json")
    assert (document["orderInfoCount"], document["orderedConsumptionLevel"]) == (1, "QUEUE")
    info = document["table"][f"{TOPIC}@g"]["0"]
    return info["a"], info["o"], info["cm"], info.get("ot", {})


def test_a_directory_with_a_batch_out_moves_both_ways(store: SharedStore) -> None:
    with store.apache("5.5.0", **POPPING) as apache, Connection(apache.broker) as connection:
        create_topic(connection, TOPIC, 1)
        send(connection, 8)
        set_mode(connection, "g", "POP", 3)
        first = pop(connection, 3, "a")
        assert first.fields["msgOffsetInfo"] == "0 0 0,1,2"
        assert ack(connection, first, 0) == 0
    assert batch(store) == ("a", [0, 1, 2], 1, {})

    with store.rocketwire() as rocketwire, Connection(rocketwire.broker) as connection:
        assert modes(connection) == {"g": ("POP", 3)}
        set_mode(connection, "h", "POP", 1)
        assert pop(connection, 3, "b").code == WITHOUT_RESULT
        assert [ack(connection, first, offset) for offset in (1, 2)] == [0, 0]
        assert committed(connection) == "3"
        second = pop(connection, 4, "b")
        assert (second.fields["msgOffsetInfo"], second.fields["orderCountInfo"]) == ("0 0 3,4,5,6", "0 0 0")
        assert ack(connection, second, 4) == 0
        fields: dict[str, str | int] = {"consumerGroup": "g", "topic": TOPIC, "queueId": 0, "offset": 3}
        fields |= {"extraInfo": handle(second, 3), "invisibleTime": 2 * LONG}
        assert connection.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, fields).code == 0
    attempt, offsets, bits, times = batch(store)
    assert (attempt, offsets, bits, list(times)) == ("b", [3, 1, 2, 3], 2, ["3"])

    with store.apache("5.5.0", **POPPING) as apache, Connection(apache.broker) as connection:
        assert modes(connection) == {"g": ("POP", 3), "h": ("POP", 1)}
        assert pop(connection, 3, "c").code == WITHOUT_RESULT
        assert [ack(connection, second, offset) for offset in (3, 5)] == [0, 0]
        assert committed(connection) == "6"
        assert ack(connection, second, 6) == 0
        third = pop(connection, 3, "c")
        assert third.fields["msgOffsetInfo"] == "0 0 7"

    with store.rocketwire() as rocketwire, Connection(rocketwire.broker) as connection:
        assert pop(connection, 3, "d").code == WITHOUT_RESULT
        again = pop(connection, 3, "c")
        assert (again.fields["msgOffsetInfo"], again.fields["orderCountInfo"]) == ("0 0 7", "0 0 0")
