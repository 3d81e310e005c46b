"""Listeners that take many messages at once: as many as a consumer asks for (1 to 1024) and the broker hands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from compat_tests.endpoints import TARGETS
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing, assert_each_once

MESSAGES = [Outgoing(body=f"batch {i}") for i in range(1100)]
MOST = 1024
DEFAULT_OF_THE_BROKER = 32


@pytest.fixture(scope="module")
def generous(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An endpoint that answers a pull with as many messages as a client may ask for."""
    folder = tmp_path_factory.mktemp("generous")
    settings = {"maxTransferCountOnMessageInMemory": str(MOST), "maxTransferBytesOnMessageInMemory": str(1 << 20)}
    with running(TARGETS[target](folder, settings=settings)) as started:
        yield started


@pytest.mark.parametrize("mode", ["concurrent", "orderly"])
def test_by_default_a_pull_brings_32_messages(clients: Clients, endpoint: Endpoint, mode: str) -> None:
    sizes = consumed(Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv), f"Batches_{mode}", mode)
    if mode == "concurrent":  # batches are parts of one pull's messages
        assert sizes == [DEFAULT_OF_THE_BROKER] * 34 + [1100 - 34 * DEFAULT_OF_THE_BROKER]
    else:  # what has been pulled meanwhile is taken together
        assert DEFAULT_OF_THE_BROKER < sizes[0] <= MOST


@pytest.mark.parametrize("mode", ["concurrent", "orderly"])
def test_one_message_at_once(clients: Clients, endpoint: Endpoint, mode: str) -> None:
    client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    assert consumed(client, f"Single_{mode}", mode, batch=1, messages=MESSAGES[:100]) == [1] * 100


def test_1024_messages_at_once(clients: Clients, generous: Endpoint) -> None:
    client = Client(clients=clients, id="java-4.9.7", namesrv=generous.namesrv)
    assert consumed(client, "Batches", "concurrent") == [MOST, 1100 - MOST]
    (pulled,) = client.only("pulled", "PullAt", topic="Batches", group="reader", queue=0, offset=[10], atOnce=MOST)
    assert (pulled["count"], pulled["next"]) == (MOST, 10 + MOST)


def consumed(
    client: Client, topic: str, mode: str, *, batch: int = MOST, messages: Sequence[Outgoing] = MESSAGES
) -> list[int]:
    """All messages come once each, of a queue that was full before: in batches of these sizes, the largest first."""
    client.run("CreateTopic", topic=topic, queues=1)
    client.run("SendBatch", topic=topic, message=messages)
    got = client.run(
        "PushBatches",
        topic=topic,
        group=f"group_{topic}",
        mode=mode,
        batch=batch,
        pull=MOST,
        behind=DEFAULT_OF_THE_BROKER,
        count=len(messages),
    )
    received = events(got, "received")
    assert_each_once(received, messages)
    if mode == "orderly":
        assert [event["queueOffset"] for event in received] == list(range(len(messages)))
    return sorted((event["size"] for event in events(got, "batch")), reverse=True)
