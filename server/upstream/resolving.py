"""The IP addresses of host names: brokers may be registered by names, and clients may get the proxy's name.

The system's resolver runs in threads, a few at a time, for it may take long and the names come from others. Its answers
are kept for a while.
"""

from __future__ import annotations

import logging
import re
import socket
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import trio

from rocketwire.server.upstream.connecting import CONNECT_SECONDS, Connect, RequestNotSent, connect_plain
from rocketwire.wire.addresses import Address, AddressInvalid, is_ip, parse_address

log = logging.getLogger(__name__)

FOUND_SECONDS: Final = 30.0
"""For how long the addresses of a name are kept, as Java does."""
FAILED_SECONDS: Final = 10.0
"""For how long a name that has none is not looked up again, as Java does."""
_MOST_KEPT: Final = 2000
_MOST_THREADS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})")
ResolveHost: TypeAlias = Callable[[str, None], list[tuple[Any, ...]]]
"""As `socket.getaddrinfo`."""


_look_up: Final = partial(socket.getaddrinfo, type=socket.SOCK_STREAM)


class _Found(NamedTuple):
    """What is known of a name: its addresses, or why there are none."""

    addresses: tuple[str, ...]
    reason: str
    until: float


def usable_address(text: str) -> Address | None:
    """The address of a broker in a name server's answer; None: no client can connect to it.

    It must be written as this program would: clients get another one where exactly this text stands.
    """
    try:
        address = parse_address(text)
    except AddressInvalid:
        return None
    named = is_ip(address.host) or _NAME.fullmatch(address.host)
    return address if named and address.port and str(address) == text else None


class Resolver:
    """Looks up names.

    Args:
        look_up: Calls the system's resolver; it may block.
    """

    def __init__(self, look_up: ResolveHost = _look_up) -> None:
        self._look_up = look_up
        self._kept: OrderedDict[str, _Found] = OrderedDict()
        self._turns: dict[str, trio.Lock] = {}
        self._threads = trio.CapacityLimiter(_MOST_THREADS)

    def known(self, address: Address) -> Address | None:
        """The address with an IP address for its host's name, as it was found last; None: it is not known."""
        if is_ip(address.host):
            return address
        found = self._kept.get(address.host)
        return None if found is None or not found.addresses else Address(host=found.addresses[0], port=address.port)

    async def addresses(self, host: str) -> tuple[str, ...]:
        """The IP addresses of a host, those of IPv4 first, as Java has them.

        Raises:
            RequestNotSent: there are none, or the resolver does not answer within CONNECT_SECONDS.
        """
        if is_ip(host):
            return (host,)
        turn = self._turns.setdefault(host, trio.Lock())
        try:
            async with turn:
                found = self._kept.get(host)
                if found is None or trio.current_time() >= found.until:
                    found = await self._resolve(host, found)
        finally:
            if not turn.statistics().tasks_waiting and not turn.locked():
                self._turns.pop(host, None)
        if not found.addresses:
            raise RequestNotSent(f"{host} cannot be reached: {found.reason}")
        return found.addresses

    async def _resolve(self, host: str, former: _Found | None) -> _Found:
        """Call the resolver; a name that it cannot find now keeps its former addresses."""
        reason = "its name is not found in time"
        addresses: tuple[str, ...] = ()
        with trio.move_on_after(CONNECT_SECONDS):
            try:
                found_addresses = await trio.to_thread.run_sync(
                    self._look_up, host, None, abandon_on_cancel=True, limiter=self._threads
                )
            except (OSError, ValueError) as error:
                reason = f"its name is not found: {getattr(error, 'strerror', None) or 'not a host name'}"
            else:
                found_addresses.sort(key=lambda each: bool(each[0] != socket.AF_INET))
                addresses = tuple(dict.fromkeys(str(each[4][0]) for each in found_addresses))
        if not addresses and (former is None or former.addresses):
            log.warning("%(host)s: %(reason)s", {"host": host, "reason": reason})
        seconds = FOUND_SECONDS if addresses else FAILED_SECONDS
        if not addresses and former is not None:
            addresses = former.addresses
        found = self._kept[host] = _Found(addresses, reason, trio.current_time() + seconds)
        self._kept.move_to_end(host)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found

    async def prepare(self, host: str) -> None:
        """Look up the addresses of a host, so that they are known, if it has any."""
        try:
            await self.addresses(host)
        except RequestNotSent:
            log.debug("%(host)s has no address", {"host": host})

    def connect_resolved(self, by: Connect = connect_plain) -> Connect:
        """Makes connections to hosts by their IP addresses, which are tried one after the other."""

        async def resolved(address: Address, nursery: trio.Nursery) -> socket.socket:
            reason: RequestNotSent | None = None
            for host in await self.addresses(address.host):
                try:
                    return await by(Address(host=host, port=address.port), nursery)
                except RequestNotSent as error:
                    reason = reason or error
            assert reason is not None  # noqa: S101 - there is an address
            raise reason

        return resolved
