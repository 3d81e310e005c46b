"""A cluster of several brokers, of either kind, with `rocketwire proxy` in front of it: clients know the proxy only."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from compat_tests.endpoints import SETTINGS, Own
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.ports import LOOPBACK, free_rows
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.addresses import parse_address
from rocketwire.wire.bodies.topic import TopicConfig

APACHE_4: Final = "4.9.7"
APACHE_5: Final = "5.5.0"
OURS: Final = "rocketwire"
BROKERS: Final[Mapping[str, int]] = {APACHE_4: 2, APACHE_5: 2, OURS: 3}
"""How many brokers of a kind the catalogue runs in front of."""

QUEUES: Final = 4
"""Of a topic that `create_topic` makes, at each broker."""
ALSO_GRPC: Final = ("--grpc", f"{LOOPBACK}:0")
"""Options of a proxy that serves clients of 5.x, too."""


class OwnBroker(Own):
    """`rocketwire serve` as a broker alone."""

    def __init__(
        self, folder: Path, *, namesrv: str, port: int, name: str, settings: Mapping[str, str] | None = None
    ) -> None:
        self.broker = f"{LOOPBACK}:{port}"
        command = ["serve", "--namesrv", "none", "--register", namesrv, "--broker", self.broker]
        command += ["--store", str(folder / "store"), "--grpc", "none"]
        keys = {**SETTINGS, "brokerName": name, **(settings or {})}
        for key, value in keys.items():
            command += ["--set", f"{key}={value}"]
        super().__init__(command)


class OwnNameServer(Own):
    """`rocketwire serve` as a name server alone."""

    def __init__(self, folder: Path, *, address: str) -> None:
        self.address = address
        super().__init__(["serve", "--namesrv", address, "--broker", "none", "--store", str(folder / "names")])


class ProxyProcess(Own):
    """`rocketwire proxy` in front of name servers.

    Attributes:
        namesrv: Its address.
        brokers: Its addresses of the brokers, by `NAME:ID`, once it is ready.
        grpc: Its address for clients of 5.x, likewise.
    """

    def __init__(self, upstream: str, *, port: int, options: Sequence[str] = ()) -> None:
        self.namesrv = f"{LOOPBACK}:{port}"
        self.brokers: Mapping[str, str] = {}
        self.grpc: str | None = None
        super().__init__(
            ["proxy", "--upstream", upstream, "--listen", self.namesrv, "--json-ready", *options], '"namesrv"'
        )

    def start(self) -> None:
        """Start it, and learn its addresses."""
        super().start()
        assert self._process is not None
        (line,) = (each for each in self._process.output if each.startswith('{"namesrv"'))
        document = json.loads(line)
        self.brokers, self.grpc = document["brokers"], document["grpc"]


class Proxied:
    """A name server, brokers, and a proxy in front.

    Args:
        folder: For the stores.
        kind: Of the servers: `APACHE_4`, `APACHE_5` or `OURS`.
        brokers: How many.
        settings: Of the brokers.
        options: More of the proxy's command line.
    """

    def __init__(
        self,
        folder: Path,
        *,
        kind: str,
        brokers: int = 2,
        settings: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        rows = free_rows(brokers + 2)
        self.upstream = f"{LOOPBACK}:{rows.pop()[0]}"
        self.brokers: list[ApacheBroker | OwnBroker] = []
        self.name_server: ApacheNameServer | OwnNameServer = (
            OwnNameServer(folder, address=self.upstream)
            if kind == OURS
            else ApacheNameServer(folder / "names", address=self.upstream, version=kind)
        )
        for number in range(brokers):
            name = f"broker-{'abc'[number]}"
            _, port = rows.pop()
            own = folder / name
            self.brokers.append(
                OwnBroker(own, namesrv=self.upstream, port=port, name=name, settings=settings)
                if kind == OURS
                else ApacheBroker(own, namesrv=self.upstream, port=port, version=kind, name=name, settings=settings)
            )
        self.proxy = ProxyProcess(self.upstream, port=rows.pop()[0], options=("--broker-ports", "0", *options))

    @property
    def namesrv(self) -> str:
        """The proxy's address."""
        return self.proxy.namesrv

    @property
    def grpc(self) -> str:
        """The proxy's address for clients of 5.x."""
        assert self.proxy.grpc is not None
        return self.proxy.grpc

    @property
    def broker(self) -> str:
        """The proxy's address of the first broker."""
        return self.proxy.brokers["broker-a:0"]

    def start(self) -> None:
        """Start all."""
        self.name_server.start()
        for each in self.brokers:
            each.start()
        self.proxy.start()

    def stop(self) -> None:
        """Stop all."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.name_server.stop)
            for each in self.brokers:
                stack.callback(each.stop)
            stack.callback(self.proxy.stop)

    def kill(self) -> None:
        """Kill the first broker."""
        self.brokers[0].kill()

    def restart(self) -> None:
        """Restart the proxy."""
        self.proxy.stop()
        self.proxy.start()


def users_of_5_5(folder: Path, name: str, secret: str) -> dict[str, str]:
    """The settings of a broker of 5.5.0 that demands an account of everybody, and has one (ACL 2.0)."""
    providers = "org.apache.rocketmq.auth.authentication.provider."
    return {
        "authenticationEnabled": "true",
        "authenticationProvider": providers + "DefaultAuthenticationProvider",
        "authenticationMetadataProvider": providers + "LocalAuthenticationMetadataProvider",
        "authConfigPath": str(folder / "auth"),
        "initAuthenticationUser": json.dumps({"username": name, "password": secret}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": name, "secretKey": secret}),
    }


def create_topic(address: str, topic: str) -> None:
    """Make a topic with `QUEUES` queues on a broker."""
    with BlockingConnection("broker", parse_address(address)) as broker:
        put_topic(broker, TopicConfig(topic_name=topic, read_queue_nums=QUEUES, write_queue_nums=QUEUES))
