"""An official client that reaches the name server and the broker over IPv6 only.

The Java clients 4.9.7 and 5.5.0 take `[::1]:PORT` for a name server's and a broker's address: they split at the last
colon. What keeps them from IPv6 is the JVM's preferIPv4Stack, which the tests otherwise set. 4.4.0 splits at every
colon, so it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from compat_tests import remoting
from compat_tests.endpoints import TARGETS
from compat_tests.programs import Programs
from rocketwire.compat.brokers.endpoint import Endpoint, running
from rocketwire.compat.brokers.ports import LOOPBACK_6, port_of
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing, assert_each_once, assert_same

# The one variable whose flags a JVM takes after those of its command line.
OVER_IPV6: Final[Mapping[str, str]] = {"_JAVA_OPTIONS": "-Djava.net.preferIPv4Stack=false"}
LOOPBACK_HEX: Final = f"{1:032X}"
JAVA_LOOPBACK: Final = "0:0:0:0:0:0:0:1"


@pytest.fixture(scope="module")
def clients_6(programs: Programs) -> Iterator[Clients]:
    """Clients whose JVM speaks IPv6."""
    with Clients(programs, OVER_IPV6) as started:
        yield started


@pytest.fixture
def endpoint_6(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint whose addresses are [::1]:PORT."""
    for name, value in OVER_IPV6.items():
        monkeypatch.setenv(name, value)  # for Apache's JVMs
    with running(TARGETS[target](tmp_path, host=LOOPBACK_6)) as started:
        yield started


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_send_consume_and_query(endpoint_6: Endpoint, clients_6: Clients, version: str) -> None:
    topic = "V6"
    client = Client(clients=clients_6, id=f"java-{version}", namesrv=endpoint_6.namesrv)
    client.run("CreateTopic", topic=topic, queues=2)
    assert remoting.broker_addresses(endpoint_6.namesrv, topic) == {endpoint_6.broker}

    messages = [Outgoing(body=f"über IPv6 {i}", tags="T", keys=f"k{i}") for i in range(12)]
    got = client.run("Query", topic=topic, message=messages, key=["k3"])
    sent = events(got, "sent")
    port = port_of(endpoint_6.broker)
    for event in sent:
        assert event["status"] == "SEND_OK"
        assert len(event["offsetMsgId"]) == 56
        assert event["offsetMsgId"][:40] == f"{LOOPBACK_HEX}{port:08X}"
    for how in ("by offset id", "by unique key"):
        found = events(got, how)
        assert len(found) == len(messages)
        for event, message in zip(found, messages, strict=True):
            assert_same(event, message)
    (by_key,) = events(got, "by key")
    assert_same(by_key, messages[3])

    received = client.only("received", "PushConcurrent", topic=topic, group="v6", count=len(messages))
    assert_each_once(received, messages)
    for event in received:
        assert JAVA_LOOPBACK in event["bornHost"]
        assert event["storeHost"].endswith(f"{JAVA_LOOPBACK}]:{port}")
