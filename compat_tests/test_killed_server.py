"""kill -9 of the broker while an official producer sends under SYNC_FLUSH: what it acknowledged stays."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from compat_tests import remoting
from compat_tests.endpoints import TARGETS
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Event, by_queue

QUEUES: Final = 4
ROUNDS: Final = 2
ENOUGH: Final = 500  # messages in the store when the broker is killed, a round
FOREVER: Final = 1_000_000


def kill_under_load(endpoint: Endpoint, client: Client, topic: str, number: int) -> list[Event]:
    """The acknowledgements that a producer got before the broker under it was killed; it numbers from `number` on."""
    with ThreadPoolExecutor(1) as pool:
        producer = pool.submit(
            client.run, "SendNumbered", topic=topic, first=number, each=FOREVER, retries=0, within=240
        )
        start = stored(endpoint, topic)
        wait_until(
            lambda: stored(endpoint, topic) >= start + ENOUGH, lambda: f"{stored(endpoint, topic) - start} messages"
        )
        endpoint.kill()
        got = producer.result()
    assert len(events(got, "failed")) == QUEUES, "a thread ended for another reason than the broker's end"
    sent = events(got, "sent")
    assert len(sent) >= ENOUGH - QUEUES
    return [event for event in sent if event["status"] == "SEND_OK"]


def stored(endpoint: Endpoint, topic: str) -> int:
    """How many messages the topic's queues have."""
    return sum(remoting.max_offset(endpoint.broker, topic, queue) for queue in range(QUEUES))


def assert_kept(acknowledged: Sequence[Event], found: Sequence[Event]) -> None:
    """Acknowledged messages are stored at the places in the answers, none twice, and each queue is in sending order."""
    places = {(event["queueId"], event["queueOffset"]): (event["text"], event["msgId"]) for event in found}
    lost = [
        event
        for event in acknowledged
        if places.get((event["queueId"], event["queueOffset"])) != (event["text"], event["msgId"])
    ]
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged are lost or elsewhere: {lost[:3]}"
    texts = [event["text"] for event in found]
    assert len(set(texts)) == len(texts) == len(places)
    for queue, in_queue in by_queue(found).items():
        numbers = [int(event["text"].removeprefix(f"{queue}-")) for event in in_queue]
        assert numbers == sorted(numbers)
        assert [event["queueOffset"] for event in in_queue] == list(range(len(in_queue)))


def test_everything_acknowledged_outlives_a_kill(target: str, clients: Clients, tmp_path: Path) -> None:
    topic = "Killed"
    with running(TARGETS[target](tmp_path, settings={"flushDiskType": "SYNC_FLUSH"})) as endpoint:
        client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
        client.run("CreateTopic", topic=topic, queues=QUEUES)
        acknowledged: list[Event] = []
        for number in range(ROUNDS):
            acknowledged += kill_under_load(endpoint, client, topic, number * FOREVER)
            endpoint.start()
            found = client.only("received", "PullAll", topic=topic, group="reader", count=len(acknowledged))
            assert_kept(acknowledged, found)
