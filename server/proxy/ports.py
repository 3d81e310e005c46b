"""The proxy's address for each broker behind it.

Remoting clients connect to each broker by its address, and most of their requests do not name the broker. So each
broker, slaves too, has a port here, whose connections are relayed to it. The port stays when the broker moves. The
brokers that are known when the proxy starts have their ports at once, in the order of their names, so that a restarted
proxy gives the same. One that comes later gets the next free port when a client's route first names it.

The port of a broker that no name server lists any more is closed after a while, unless clients are connected to it; its
number is then free. So brokers that come and go, or whose names are made up, take no more descriptors than there may be
ports.
"""

from __future__ import annotations

import logging
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

import trio

from rocketwire.server.limits.limits import Limits
from rocketwire.server.net.listener import AddressInUse, bind
from rocketwire.server.proxy.settings import PORT_STEP
from rocketwire.server.upstream.cluster import BROKERS_LIMIT, BrokerKey, UpstreamCluster
from rocketwire.wire.addresses import MAX_PORT, Address

log = logging.getLogger(__name__)

UNLISTED_SECONDS: Final = 120.0
"""For how long a broker that is not listed any more keeps its port: clients request routes every 30 s."""
_GIVES_WAY_SECONDS: Final = 10.0
"""After so long it gives way to another broker when there are as many ports as there may be: not sooner, or names that
change with each answer would have thousands of ports opened and closed each second."""
_SWEEP_SECONDS: Final = 10.0
_VIP_PORT_BELOW: Final = 2
_MOST_ATTEMPTS: Final = 20
"""How many ports are tried for a broker."""
_MOST_TEXTS: Final = 8
"""Addresses of one broker that are replaced by the proxy's: its own, and former ones."""
_AT_ONCE: Final = 16
"""Ports that are opened before other tasks run."""


class PortService(NamedTuple):
    """What serves a broker's port.

    Attributes:
        connections: How many clients are connected.
        end: Called when the port is closed.
    """

    connections: Callable[[], int]
    end: Callable[[], None]


class _Port:
    """An open port."""

    __slots__ = ("address", "scope", "served", "texts")

    def __init__(self, address: Address) -> None:
        self.address = address
        self.scope = trio.CancelScope()
        self.served: PortService | None = None
        self.texts: OrderedDict[str, None] = OrderedDict()

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return 0 if self.served is None else self.served.connections()


class BrokerPorts:
    """The ports.

    Args:
        cluster: The brokers.
        host: Where to listen.
        first: The first port; 0: free ones are taken.
        advertised_host: The host of the addresses that clients get.
        listen: Called with the sockets of a new broker; it serves them in the nursery.
        most: How many ports there may be; each may take two descriptors.
        limits: Counts brokers that get none.
    """

    def __init__(
        self,
        cluster: UpstreamCluster,
        *,
        host: str,
        first: int,
        advertised_host: str,
        listen: Callable[[BrokerKey, Sequence[socket.socket], trio.Nursery], PortService],
        most: int,
        limits: Limits,
    ) -> None:
        self._cluster = cluster
        self._host = host
        self._first = first
        self._next = first
        self._free: list[int] = []
        self._advertised_host = advertised_host
        self._listen = listen
        self._most = most
        self._limits = limits
        self._nursery: trio.Nursery | None = None
        self._ports: dict[BrokerKey, _Port] = {}
        self._unlisted: dict[BrokerKey, float] = {}
        """Since when each broker with a port is not listed any more, the first one first."""
        self._proxied: dict[str, str] = {}
        cluster.changed.subscribe(self._follow)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the ports; never returns. It has started once the brokers known by then have theirs."""
        async with trio.open_nursery() as self._nursery:
            await self.open_in_steps(self._cluster.brokers)
            task_status.started()
            while True:
                await trio.sleep(_SWEEP_SECONDS)
                await self._close_unused(trio.current_time() - UNLISTED_SECONDS)

    async def _close_unused(self, oldest: float) -> None:
        """Close the ports of brokers that are not listed since before a time, a few at a time."""
        unlisted = [key for key, since in self._unlisted.items() if since <= oldest]
        for number, key in enumerate(unlisted, 1):
            if key in self._unlisted and not self._ports[key].connections:
                self._close(key, self._ports[key])
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()

    def address_of(self, key: BrokerKey) -> Address | None:
        """The address that clients get for a broker; None: it has no port."""
        port = self._ports.get(key)
        return None if port is None else port.address

    def proxied(self) -> dict[str, str]:
        """The proxy's address for each address of a broker, as texts; former ones, which kept routes may have, too."""
        return self._proxied

    def open(self, keys: Iterable[BrokerKey]) -> None:
        """Open ports for those of these brokers that are known."""
        for key in self._without(keys):
            self._open(key)

    async def open_in_steps(self, keys: Iterable[BrokerKey]) -> None:
        """Likewise many, while other tasks run in between."""
        for number, key in enumerate(self._without(keys), 1):
            self._open(key)
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()

    def _without(self, keys: Iterable[BrokerKey]) -> list[BrokerKey]:
        known = self._cluster.brokers
        return sorted(key for key in keys if key in known and key not in self._ports)

    def _follow(self) -> None:
        """Note which brokers are not listed any more, and new addresses of others."""
        now, known = trio.current_time(), self._cluster.brokers
        for key, port in self._ports.items():
            address = known.get(key)
            if address is not None:
                self._unlisted.pop(key, None)
                self._name(port, str(address))
            else:
                self._unlisted.setdefault(key, now)
        if not self._ports and known and self._nursery is not None:  # no name server answered at the start
            self._nursery.start_soon(self.open_in_steps, tuple(known))

    def _name(self, port: _Port, text: str) -> None:
        """Have routes for clients contain a port in place of an address of its broker."""
        self._proxied[text] = str(port.address)
        port.texts[text] = None
        port.texts.move_to_end(text)
        if len(port.texts) > _MOST_TEXTS:
            self._forget(port, port.texts.popitem(last=False)[0])

    def _forget(self, port: _Port, text: str) -> None:
        if self._proxied.get(text) == str(port.address):  # else another broker has the address now
            del self._proxied[text]

    def _open(self, key: BrokerKey) -> None:
        address = self._cluster.brokers.get(key)  # it may have been removed since the last step
        if self._nursery is None or address is None or key in self._ports or not self._has_room():
            return
        sockets = self._bound(key)
        if not sockets:
            return
        number = sockets[0].getsockname()[1]
        port = self._ports[key] = _Port(Address(host=self._advertised_host, port=number))
        self._name(port, str(address))
        log.info(
            "broker %(broker)s (id %(id)d) has port %(port)d", {"broker": key.name, "id": key.broker_id, "port": number}
        )
        self._nursery.start_soon(self._serve, key, port, sockets)

    def _has_room(self) -> bool:
        """Whether there may be one more port; the unused port of the broker that is unlisted for longest is closed."""
        if len(self._ports) < self._most:
            return True
        oldest = trio.current_time() - _GIVES_WAY_SECONDS
        long_unlisted = takewhile(lambda each: each[1] <= oldest, self._unlisted.items())
        unused = next((key for key, _ in long_unlisted if not self._ports[key].connections), None)
        if unused is not None:
            self._close(unused, self._ports[unused])
            return True
        self._limits.count_refusal(BROKERS_LIMIT, "a port of a broker")
        return False

    async def _serve(self, key: BrokerKey, port: _Port, sockets: Sequence[socket.socket]) -> None:
        try:
            with port.scope:
                async with trio.open_nursery() as nursery:
                    port.served = self._listen(key, sockets, nursery)
                    await trio.sleep_forever()
        except Exception:  # a bug in serving one broker must not end the others
            log.exception("the port of broker %(broker)s is closed", {"broker": key.name})
            if self._ports.get(key) is port:
                self._close(key, port)
        finally:
            if port.served is not None:
                port.served.end()
            for sock in sockets:
                sock.close()
            if self._first:
                self._free.append(port.address.port)

    def _close(self, key: BrokerKey, port: _Port) -> None:
        del self._ports[key]
        self._unlisted.pop(key, None)
        for text in port.texts:
            self._forget(port, text)
        log.info(
            "broker %(broker)s (id %(id)d) is gone: port %(port)d is closed",
            {"broker": key.name, "id": key.broker_id, "port": port.address.port},
        )
        port.scope.cancel()

    def _number(self) -> int | None:
        """The number of the next port; None: all are taken."""
        if not self._first:
            return 0
        if self._free:
            least = min(self._free)
            self._free.remove(least)
            return least
        own = {port.address.port for port in self._ports.values()}
        for _ in range(len(own) + 1):
            if self._next > MAX_PORT:  # some were not free when they were tried
                self._next = self._first
            number = self._next
            self._next += PORT_STEP
            if number not in own:
                return number
        return None

    def _bound(self, key: BrokerKey) -> list[socket.socket]:
        """The sockets of a broker: its port's, and that of the port two below for clients of the VIP channel."""
        reason: AddressInUse | str = "no number is left"
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            number = self._number()
            if number is None:
                break
            try:
                main = bind(self._host, number, option="port of a broker")
            except AddressInUse as error:
                reason = error
                log.warning("%(reason)s", {"reason": error})
                continue
            try:
                below = main.getsockname()[1] - _VIP_PORT_BELOW
                return [main, bind(self._host, below, option="port of a broker - 2")]
            except AddressInUse as error:
                if number or attempt == _MOST_ATTEMPTS:
                    log.warning("clients of the VIP channel are not served: %(reason)s", {"reason": error})
                    return [main]
                main.close()  # any port will do
        log.error(
            "broker %(broker)s (id %(id)d) cannot be offered: %(reason)s",
            {"broker": key.name, "id": key.broker_id, "reason": reason},
        )
        return []
