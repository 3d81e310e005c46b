"""Endpoints that are started: Apache's name server and broker as one.

Theory: who uses an endpoint knows it only by its addresses and by stop, start and restart; so the same scenario runs
against any, and one that fails on one only is a difference between them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from rocketwire.compat.brokers.apache import ApacheBroker, ApacheLocalProxy, ApacheNameServer
from rocketwire.compat.brokers.ports import LOOPBACK, free_ports, grpc_port, port_of
from rocketwire.compat.brokers.processes import EndpointError


class Startable(Protocol):
    """What `running` runs."""

    def start(self) -> None:
        """Start it and return when a client can use it. Raises EndpointError."""

    def stop(self) -> None:
        """Stop it cleanly. Raises EndpointError when it does not stop as it should."""


class Endpoint(Startable, Protocol):
    """A name server and a broker under test."""

    @property
    def namesrv(self) -> str:
        """The name server's address, HOST:PORT."""

    @property
    def broker(self) -> str:
        """The broker's address, HOST:PORT."""

    def kill(self) -> None:
        """Kill the broker, and what shares its process, with SIGKILL; `start` starts it again on the same store."""

    def restart(self) -> None:
        """Stop it cleanly and start it again on the same store."""


Started = TypeVar("Started", bound=Startable)


class Apache:
    """Apache's own name server and broker."""

    def __init__(
        self,
        folder: Path,
        *,
        version: str = "4.9.7",
        settings: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
    ) -> None:
        namesrv, port = free_ports(host)
        self._name_server = ApacheNameServer(folder, address=f"{host}:{namesrv}", version=version)
        self._broker = ApacheBroker(
            folder, namesrv=self.namesrv, port=port, version=version, host=host, settings=settings
        )

    @property
    def namesrv(self) -> str:
        """The name server's address."""
        return self._name_server.address

    @property
    def broker(self) -> str:
        """The broker's address."""
        return self._broker.broker

    def start(self) -> None:
        """Start the name server unless it runs, then the broker."""
        self._name_server.start()
        self._broker.start()

    def kill(self) -> None:
        """Kill the broker; the name server keeps running."""
        self._broker.kill()

    def stop(self) -> None:
        """Stop the broker, then the name server."""
        try:
            self._broker.stop()
        finally:
            self._name_server.stop()

    def restart(self) -> None:
        """Stop both cleanly and start them again on the same store."""
        self.stop()
        self.start()


class Apache5(Apache):
    """Apache's name server and broker of 5.5.0, which has timers; they take 10 s to know each other."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None, host: str = LOOPBACK) -> None:
        super().__init__(folder, version="5.5.0", settings=settings, host=host)


class ApacheProxy(Apache5):
    """The same with Apache's proxy, LOCAL: the broker in the proxy's process, which clients of 5.x reach by gRPC."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None, host: str = LOOPBACK) -> None:
        super().__init__(folder, settings=settings, host=host)
        port = port_of(self.broker)
        self.grpc = f"{host}:{grpc_port(port)}"
        self._broker = ApacheLocalProxy(
            folder,
            namesrv=self.namesrv,
            port=port,
            version="5.5.0",
            host=host,
            settings=settings,
            grpc=grpc_port(port),
        )


@contextlib.contextmanager
def running(endpoint: Started) -> Iterator[Started]:
    """The endpoint, started; stopped at the end."""
    try:
        endpoint.start()
    except EndpointError:
        with contextlib.suppress(EndpointError):
            endpoint.stop()
        raise
    try:
        yield endpoint
    finally:
        endpoint.stop()
