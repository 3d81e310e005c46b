"""The proxy's own address of each broker behind it.

Remoting clients connect to each broker by its address, and most of their requests do not name the broker. So each
broker, slaves too, has a port here, whose connections are relayed to it. The port stays when the broker moves. Ports
are given in the order of the brokers' names when the proxy starts, so that a restarted one gives the same; brokers that
come later get the next ones.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from typing import Final

import trio

from rocketwire.server.net.listener import AddressInUse, bind
from rocketwire.server.proxy.settings import PORT_STEP
from rocketwire.server.upstream.cluster import BrokerKey, Cluster
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

_VIP_PORT_BELOW: Final = 2
_MOST_ATTEMPTS: Final = 20
"""How many ports are tried for a broker."""


class Ports:
    """The ports, opened as brokers become known.

    Args:
        cluster: The brokers.
        host: Where to listen.
        first: The first port; 0: free ones are taken.
        advertised_host: The host of the addresses that clients get.
        listen: Called with the sockets of a new broker; it serves them in the nursery.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        host: str,
        first: int,
        advertised_host: str,
        listen: Callable[[BrokerKey, Sequence[socket.socket], trio.Nursery], None],
    ) -> None:
        self._cluster = cluster
        self._host = host
        self._next = first
        self._advertised_host = advertised_host
        self._listen = listen
        self._nursery: trio.Nursery | None = None
        self._addresses: dict[BrokerKey, Address] = {}
        self._proxied: dict[str, str] = {}
        cluster.changed.subscribe(self._open_all)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the ports; never returns. It has started once the brokers known by then have theirs."""
        async with trio.open_nursery() as self._nursery:
            self._open_all()
            task_status.started()
            await trio.sleep_forever()

    def address_of(self, key: BrokerKey) -> Address | None:
        """The address that clients get for a broker; None: it is not known."""
        return self._addresses.get(key)

    def proxied(self) -> dict[str, str]:
        """The proxy's address for each address of a broker, as texts; former ones, which kept routes may have, too."""
        return self._proxied

    def _open_all(self) -> None:
        if self._nursery is None:
            return
        for key in sorted(self._cluster.brokers.keys() - self._addresses.keys()):
            sockets = self._bound(key)
            if sockets:
                port = sockets[0].getsockname()[1]
                self._addresses[key] = Address(host=self._advertised_host, port=port)
                log.info(
                    "broker %(broker)s (id %(id)d) has port %(port)d",
                    {"broker": key.name, "id": key.broker_id, "port": port},
                )
                self._listen(key, sockets, self._nursery)
        for key, address in self._cluster.brokers.items():
            if key in self._addresses:
                self._proxied[str(address)] = str(self._addresses[key])

    def _bound(self, key: BrokerKey) -> list[socket.socket]:
        """The sockets of a broker: its port's, and that of the port two below for clients of the VIP channel."""
        reason: AddressInUse | None = None
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            port = self._next
            self._next += PORT_STEP if port else 0
            try:
                main = bind(self._host, port, option="port of a broker")
            except AddressInUse as error:
                reason = error
                log.warning("%(reason)s", {"reason": error})
                continue
            try:
                below = main.getsockname()[1] - _VIP_PORT_BELOW
                return [main, bind(self._host, below, option="port of a broker - 2")]
            except AddressInUse as error:
                if port or attempt == _MOST_ATTEMPTS:
                    log.warning("clients of the VIP channel are not served: %(reason)s", {"reason": error})
                    return [main]
                main.close()  # any port will do
        log.error(
            "broker %(broker)s (id %(id)d) cannot be offered: %(reason)s",
            {"broker": key.name, "id": key.broker_id, "reason": reason},
        )
        return []
