"""Proxies that stand behind each other in a ring, so that a request would go round until no descriptor is left.

Each proxy has an id. A request to a name server has the ids of the proxies that it went through in its remark, which
servers do not read and signatures do not cover; one that comes back to a proxy is refused.

Frames for brokers pass unchanged, and each client has a separate connection to its broker. So before the first of them
goes to an address, the proxy sends a probe there (`CODE`, with its id): does the way lead back to it? Another proxy
adds its id, and passes the probe on the way that a connection would take; a broker does not know the code, and its
refusal means that the way ends there. The proxy that would close a ring sends a probe before: so it changes its way.
"""

from __future__ import annotations

import logging
import re
import socket
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.upstream.broker_connection import connect
from rocketwire.server.upstream.connecting import CONNECT_SECONDS, Connect, RequestNotSent, UpstreamConnectionError
from rocketwire.server.upstream.requests import send_request
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

CODE: Final = 29_876
"""The request code of the probe, which no server of RocketMQ has."""
FIRST_BYTES: Final = 8 + len('{"code":29876,')
"""So many bytes of a connection show whether a probe comes first."""
MOST_PROXIES: Final = 8
"""That may stand behind each other."""
LOOP_REMARK: Final = f"the way leads through this proxy again, or through more than {MOST_PROXIES}"
_BEGINNING: Final = b'{"code":%d,' % CODE
_PROXIES: Final = "proxies"
_REMARK: Final = re.compile(r"proxies ([0-9a-f,]{1,400})")
_RING: Final = "ring"
_YES: Final = "true"
_RING_SECONDS: Final = 5.0
"""For how long an address that leads back gets no further probe."""
_MOST_KNOWN: Final = 2000
_MOST_PASSED_ON: Final = 16


def is_loop_probe(first: bytes) -> bool:
    """Whether a connection begins with a probe."""
    return first[8:].startswith(_BEGINNING)


class ProxyLoopGuard:
    """Notices rings.

    Args:
        own: The id of this proxy: hexadecimal digits.
        connecting: Makes connections.
    """

    def __init__(self, own: str, connecting: Connect) -> None:
        self._own = own
        self._connecting = connecting
        self._ring_until: OrderedDict[Address, float | None] = (
            OrderedDict()
        )  # until when it is a ring; None: it is none
        self._probes: dict[Address, trio.Event] = {}
        self._passing_on = trio.CapacityLimiter(_MOST_PASSED_ON)

    # --- requests to name servers

    def is_loop(self, remark: str | None) -> bool:
        """Whether a request with such a remark came through this proxy before, or through too many proxies."""
        return self._is_ring(_ids(remark))

    def add_own_mark(self, remark: str | None = None) -> str:
        """The remark of a request that is passed on; without `remark`, of one that begins at this proxy."""
        return f"{_PROXIES} {','.join((*_ids(remark), self._own))}"

    # --- connections to brokers

    async def connect(self, address: Address, nursery: trio.Nursery) -> socket.socket:
        """A connection to a broker, as the function of that name in `upstream`.

        Raises:
            RequestNotSent: there is none within some seconds, or the way leads back here.
        """
        while address in self._probes:
            await self._probes[address].wait()
        until = self._ring_until.get(address, 0.0)
        if until is not None and trio.current_time() >= until:
            until = await self._probe(address)
        if until is not None:
            raise RequestNotSent(f"{address}: {LOOP_REMARK}")
        return await self._connecting(address, nursery)

    async def _probe(self, address: Address) -> float | None:
        """Until when the way counts as one that leads back; None: it does not, or no answer came in time."""
        answered = self._probes[address] = trio.Event()
        try:
            ring = await self._send_probe(address, (self._own,))
        except RequestNotSent:
            raise
        except UpstreamConnectionError:
            return None  # the next client has it probed again
        finally:
            del self._probes[address]
            answered.set()
        until = trio.current_time() + _RING_SECONDS if ring else None
        if ring and self._ring_until.get(address) is None:
            log.error("%(address)s is not connected to: %(reason)s", {"address": address, "reason": LOOP_REMARK})
        self._ring_until[address] = until
        self._ring_until.move_to_end(address)
        if len(self._ring_until) > _MOST_KNOWN:
            self._ring_until.popitem(last=False)
        return until

    async def pass_on(self, address: Address | None, fields: Mapping[str, str] | None) -> dict[str, str]:
        """The fields of the answer to a probe; connections pass on to `address`, or end here if it is None."""
        ids = _ids(f"{_PROXIES} {(fields or {}).get(_PROXIES, '')}")
        ring = self._is_ring(ids)
        if not ring and address is not None:
            async with self._passing_on:
                try:
                    ring = await self._send_probe(address, (*ids, self._own))
                except UpstreamConnectionError:
                    ring = False  # no server listens there, or it is no proxy
        return {_RING: _YES} if ring else {}

    def _is_ring(self, ids: tuple[str, ...]) -> bool:
        return self._own in ids or len(ids) >= MOST_PROXIES

    async def _send_probe(self, address: Address, ids: tuple[str, ...]) -> bool:
        """Whether the way leads back to one of these proxies.

        Raises:
            RequestNotSent: no server listens there.
            UpstreamConnectionError: there is no answer in time.
        """
        found: Response | UpstreamConnectionError
        async with trio.open_nursery() as nursery:
            try:
                connection = await connect(address, nursery, connecting=self._connecting)
                found = await send_request(
                    connection, ClientRequest(CODE, {_PROXIES: ",".join(ids)}), seconds=CONNECT_SECONDS
                )
            except UpstreamConnectionError as error:
                found = error
            nursery.cancel_scope.cancel()
        if isinstance(found, UpstreamConnectionError):
            raise found
        return found.ext.get(_RING) == _YES


def _ids(remark: str | None) -> tuple[str, ...]:
    """The ids in a remark; none if it is another's."""
    found = _REMARK.fullmatch(remark or "")
    return () if found is None else tuple(found[1].split(","))
