"""Which account each client id belongs to: the one whose heartbeat, of either protocol, came first.

Replies to requests, and requests to consumers, name a client by its id alone. So while a client is connected, another
account may not send heartbeats under its id. A client that reconnects has the same account, and may have several
connections: its id is free when all of them are closed or silent. Two accounts may share one connection: some libraries
have one connection, and one id, for all producers and consumers of a process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from rocketwire.server.core.request import Peer

EXPIRY_SECONDS: Final = 120.0
"""After so long without a heartbeat a client's id is free: it is no member of its groups any more."""
_MOST_OF_CONNECTION: Final = 16
"""So many ids of one connection are known, the last ones: clients have one, or one for each part of a process."""


class _Id:
    """When which accounts last sent heartbeats under one client id on each connection, in seconds of the event loop."""

    __slots__ = ("__weakref__", "heard")

    def __init__(self) -> None:
        self.heard: WeakKeyDictionary[Peer, dict[str, float]] = WeakKeyDictionary()

    def forget_closed(self, oldest: float) -> None:
        """Forget connections that are closed or silent since before a time."""
        for peer, accounts in list(self.heard.items()):
            if peer.closed or max(accounts.values()) < oldest:
                del self.heard[peer]


class _Connection:
    """The account of a connection's last heartbeat, and the ids of its heartbeats, the last one at the end."""

    __slots__ = ("account", "ids")

    def __init__(self) -> None:
        self.account = ""
        self.ids: OrderedDict[str, _Id] = OrderedDict()


class ClientIds:
    """The client ids in use.

    Args:
        now: A clock in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._of_peers: WeakKeyDictionary[Peer, _Connection] = WeakKeyDictionary()
        self._of_ids: WeakValueDictionary[str, _Id] = WeakValueDictionary()

    def may_use(self, client_id: str, account: str, peer: Peer) -> bool:
        """Whether an account may act under a client id on a connection.

        It may not while the id belongs to another account, whose client is connected on other connections only.
        """
        found = self._of_ids.get(client_id)
        if found is None or account in found.heard.get(peer, ()):
            return True
        found.forget_closed(self._now() - EXPIRY_SECONDS)
        heard = found.heard
        return not heard or peer in heard or any(account in accounts for accounts in heard.values())

    def heard(self, client_id: str, account: str, peer: Peer) -> None:
        """Note a heartbeat that is admitted; an empty account is that of an address that needs none."""
        connection = self._of_peers.setdefault(peer, _Connection())
        found = self._of_ids.setdefault(client_id, _Id())
        found.heard.setdefault(peer, {})[account] = self._now()
        connection.account = account
        connection.ids[client_id] = found
        connection.ids.move_to_end(client_id)
        if len(connection.ids) > _MOST_OF_CONNECTION:
            _, former = connection.ids.popitem(last=False)
            former.heard.pop(peer, None)

    def account(self, peer: Peer) -> str:
        """The account of a connection's last heartbeat; empty: there was none."""
        connection = self._of_peers.get(peer)
        return "" if connection is None else connection.account
