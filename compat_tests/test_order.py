"""Order over a restart of the endpoint, and locks of clients that die; the rest is in the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from compat_tests import remoting
from compat_tests.programs import Programs
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.clients.process import Argument
from rocketwire.compat.messages import Event
from rocketwire.compat.scenarios.order import KEYS, QUEUES, QUICK, check_order, takers

HEART_BEAT = 34
GET_CONSUMER_LIST_BY_GROUP = 38
LOCK_BATCH_MQ = 41


@pytest.fixture(scope="module")
def quick_clients(programs: Programs) -> Iterator[Clients]:
    """Clients that hand queues on within seconds."""
    with Clients(programs, QUICK) as started:
        yield started


def test_order_is_kept_over_a_restart(quick_clients: Clients, own_endpoint: Endpoint) -> None:
    """The endpoint restarts when the last to join consumes.

    What consumes afterwards joins then: official push consumers notice only 30 s later that a pull is lost.
    """
    client = Client(clients=quick_clients, id="java-4.9.7", namesrv=own_endpoint.namesrv)
    named: dict[str, Argument] = {"topic": "Ordered", "group": "ordered", "keys": KEYS, "failing": 10}
    client.run("CreateTopic", named, queues=QUEUES)
    changes = ["+a", "+b", "+c", "away", "+d", "-a", "-b", "-c"]
    seen: list[Event] = []

    def restart(event: Event) -> None:
        if event["event"] == "end" and event["by"] == "c" and not seen:
            seen.append(event)
            own_endpoint.restart()

    got = client.run("OrderedGroup", named, pause=1200, change=changes, watch=restart)
    check_order(got, restarted=bool(seen))
    assert takers(got) == {"a", "b", "c", "d"}
    assert events(got, "again")


def test_a_client_that_dies_keeps_its_locks(endpoint: Endpoint, group: str) -> None:
    """No other client gets its queues before the locks expire (60 s); it gets them itself when it comes back."""
    with remoting.Connection(endpoint.broker) as dying, remoting.Connection(endpoint.broker) as other:
        assert dying.ask(HEART_BEAT, body=consumer("dying", group)).code == 0
        assert lock(dying, "dying", group, 0, 1) == {0, 1}
        assert lock(other, "other", group, 1, 2) == {2}
    with remoting.Connection(endpoint.broker) as other:
        wait_until(
            lambda: other.ask(GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group}).code != 0,
            "the broker has not noticed that the client has left",
        )
        assert lock(other, "other", group, 0, 1, 2) == {2}
        assert lock(other, "dying", group, 0, 1, 2) == {0, 1}


def consumer(client_id: str, group: str) -> bytes:
    """The heartbeat of a consumer."""
    data = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
        "subscriptionDataSet": [{"topic": "Locked", "subString": "*", "subVersion": 1}],
    }
    return json.dumps({"clientID": client_id, "consumerDataSet": [data], "producerDataSet": []}).encode()


def lock(connection: remoting.Connection, client_id: str, group: str, *queues: int) -> set[int]:
    """Those of the queues that the client holds then."""
    wanted = [{"topic": "Locked", "brokerName": "broker-a", "queueId": queue} for queue in queues]
    body = {"clientId": client_id, "consumerGroup": group, "mqSet": wanted}
    answer = connection.ask(LOCK_BATCH_MQ, body=json.dumps(body).encode())
    assert answer.code == 0, answer
    return {queue["queueId"] for queue in json.loads(answer.body)["lockOKMQSet"]}
