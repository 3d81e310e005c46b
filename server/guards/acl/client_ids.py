"""Which account each client id belongs to, as heartbeats of both protocols tell: the one that came first.

Replies to requests and questions to consumers name a client by its id alone. So while a client is here,
another account may not send heartbeats under its id. A client that reconnects has the same account. Two accounts may
share one connection: some libraries have one connection, and one id, for all producers and consumers of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from rocketwire.server.core.request import Peer

EXPIRY_SECONDS: Final = 120.0
"""After so long without a heartbeat a client's id is free: it is no member of its groups any more."""


class _Holder:
    """Who sent the last heartbeat of a connection, and when, in seconds of the event loop."""

    __slots__ = ("__weakref__", "account", "at", "peer")

    def __init__(self, peer: Peer, account: str, now: float) -> None:
        self.peer = ref(peer)
        self.account = account
        self.at = now

    def is_here(self, now: float) -> bool:
        """Whether its connection is open, and it is not silent for long."""
        peer = self.peer()
        return peer is not None and not peer.closed and now - self.at <= EXPIRY_SECONDS


class ClientIds:
    """The client ids in use.

    Args:
        now: A clock in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._of_peers: WeakKeyDictionary[Peer, _Holder] = WeakKeyDictionary()
        self._of_ids: WeakValueDictionary[str, _Holder] = WeakValueDictionary()

    def may_use(self, client_id: str, account: str, peer: Peer) -> bool:
        """Whether an account may send heartbeats under a client id on a connection.

        It may not while the id belongs to another account, whose client is here on another connection.
        """
        holder = self._of_ids.get(client_id)
        if holder is None or holder.account == account or holder.peer() is peer:
            return True
        return not holder.is_here(self._now())

    def heard(self, client_id: str, account: str, peer: Peer) -> None:
        """Note a heartbeat that is admitted; an empty account is that of an address that needs none."""
        self._of_ids[client_id] = self._of_peers[peer] = _Holder(peer, account, self._now())

    def account(self, peer: Peer) -> str:
        """The account of a connection's last heartbeat; empty: there was none."""
        holder = self._of_peers.get(peer)
        return "" if holder is None else holder.account
