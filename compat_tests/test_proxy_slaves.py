"""`rocketwire proxy` in front of Apache's master and slave: the slave is consumed from when its master has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from compat_tests import remoting
from compat_tests.proxied import APACHE_4, APACHE_5, ProxyProcess, create_topic
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.ports import LOOPBACK, free_rows
from rocketwire.compat.clients.client import Client, Clients, events
from rocketwire.compat.messages import Outgoing
from rocketwire.wire.facts.codes import RequestCode

NAME: Final = "broker-a"
MASTER: Final = f"{NAME}:0"
SLAVE: Final = f"{NAME}:1"


class Pair:
    """A name server, a master that answers a send when its slave has the message, the slave, and a proxy in front.

    Args:
        folder: For the stores.
        version: Of all of Apache's.
    """

    def __init__(self, folder: Path, version: str) -> None:
        rows = free_rows(4)
        upstream = f"{LOOPBACK}:{rows.pop()[0]}"
        self.name_server = ApacheNameServer(folder / "names", address=upstream, version=version)
        ports = [rows.pop()[1] for _ in range(2)]
        roles = (("0", "SYNC_MASTER"), ("1", "SLAVE"))
        self.master, self.slave = (
            ApacheBroker(
                folder / role,
                namesrv=upstream,
                port=port,
                version=version,
                name=NAME,
                settings={"brokerId": number, "brokerRole": role, "slaveReadEnable": "true"},
            )
            for port, (number, role) in zip(ports, roles, strict=True)
        )
        self.proxy = ProxyProcess(upstream, port=rows.pop()[0], options=("--broker-ports", "0"))


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path, request.param)
    with ExitStack() as stack:
        for each in (made.name_server, made.master, made.slave, made.proxy):
            stack.callback(each.stop)
            each.start()
        yield made


@pytest.mark.parametrize("pair", [APACHE_4, APACHE_5], indirect=True)
def test_a_group_continues_at_the_slave_while_the_master_is_down(
    pair: Pair, clients: Clients, unique: Callable[[str], str]
) -> None:
    proxy = pair.proxy
    master, slave = proxy.brokers[MASTER], proxy.brokers[SLAVE]
    java = Client(clients=clients, id="java-4.9.7", namesrv=proxy.namesrv)
    first, topic = unique("First"), unique("Copied")
    for each in (first, topic):
        create_topic(master, each)
    wait_until(lambda: addresses_in_route(proxy, first) == addresses_in_route(proxy, topic) == {master, slave})
    wait_until(lambda: copied(java, first, ["x"]) == 1)  # the slave follows from now on
    wait_until(lambda: topic.encode() in remoting.request(slave, RequestCode.GET_ALL_TOPIC_CONFIG, {}).body)
    bodies = [f"m{number}" for number in range(40)]
    assert copied(java, topic, bodies) == len(bodies)
    assert copied(java, first, bodies) == len(bodies)  # a slave of 5.5 gives no message that is among the last ones

    pair.master.kill()
    wait_until(lambda: addresses_in_route(proxy, topic) == {slave})
    received = java.run("PushConcurrent", {"topic": topic, "group": unique("group"), "count": len(bodies)})
    assert sorted(each["text"] for each in events(received, "received")) == sorted(bodies)


def addresses_in_route(proxy: ProxyProcess, topic: str) -> set[str]:
    """The addresses in the topic's route."""
    return remoting.broker_addresses(proxy.namesrv, topic)


def copied(java: Client, topic: str, bodies: Sequence[str]) -> int:
    """Send messages; how many the slave had when the send was answered."""
    sent = java.run("SendSync", {"topic": topic, "message": [Outgoing(body=each) for each in bodies]})
    return sum(each["status"] == "SEND_OK" for each in events(sent, "sent"))
