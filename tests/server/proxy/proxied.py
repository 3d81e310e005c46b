"""A proxy in this process, before servers that tests start."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio

from rocketwire.server.proxy.settings import ProxySettings
from rocketwire.server.proxying import ProxyAddresses, serve_proxy
from rocketwire.server.upstream.cluster import BrokerKey
from rocketwire.wire.addresses import Address
from tests.server.harness import Client, Clock, Server, changed, run_inline, serving, small_config


def descriptors() -> int:
    """How many this process has open."""
    return sum(1 for _ in Path("/dev/fd").iterdir())


class Proxy:
    """A proxy that is ready."""

    def __init__(self, standing: ProxyAddresses) -> None:
        self.standing = standing
        self._clients: list[Client] = []

    def to(self, address: Address, **options: Any) -> Client:
        """A new connection, closed at the end."""
        client = Client(address, **options)
        self._clients.append(client)
        return client

    def names(self) -> Client:
        """A new connection to the proxy as a name server."""
        return self.to(self.standing.listened)

    def address(self, name: str = "broker-a", broker_id: int = 0) -> Address:
        """The proxy's address of a broker."""
        return self.standing.brokers[BrokerKey(name, broker_id)]

    def broker(self, name: str = "broker-a", **options: Any) -> Client:
        """A new connection to the proxy's port of a broker."""
        return self.to(self.address(name), **options)

    def close(self) -> None:
        """Close all connections."""
        for each in self._clients:
            each.close()


@contextlib.asynccontextmanager
async def proxying(
    folder: Path,
    *upstream: Address,
    read_only: bool = False,
    port: int = 0,
    first_port: int = 0,
    advertised_host: str = "127.0.0.1",
    file: str | None = None,
    shadow: tuple[Address, ...] = (),
    shadow_sample: float = 100,
    **keys: Any,
) -> AsyncIterator[Proxy]:
    """A proxy before name servers, with some keys changed."""
    loopback = Address(host="127.0.0.1", port=port)
    settings = ProxySettings(
        base=changed(replace(small_config(folder), name_server=loopback), **keys),
        upstream=upstream,
        listen=loopback,
        first_port=first_port,
        advertised_host=advertised_host,
        read_only=read_only,
        file=file,
        shadow=shadow,
        shadow_sample=shadow_sample,
    )
    ready: list[ProxyAddresses] = []
    is_ready = trio.Event()

    def listens(standing: ProxyAddresses) -> None:
        ready.append(standing)
        is_ready.set()

    async def serve() -> None:
        await serve_proxy(settings, clock=Clock(), choose=lambda bound: bound - 1, run_sync=run_inline, ready=listens)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await is_ready.wait()
        proxy = Proxy(ready[0])
        try:
            yield proxy
        finally:
            proxy.close()
            nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def pair(folder: Path, **keys: Any) -> AsyncIterator[tuple[Server, Proxy]]:
    """A server with the topic T of two queues, and a proxy before it, with some keys changed."""
    async with serving(folder / "store") as server:
        await server.broker().create_topic("T", 2)
        async with proxying(folder / "p", server.name_server_address, **keys) as proxy:
            yield server, proxy
