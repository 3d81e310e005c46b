"""Which account each client id belongs to: the one whose heartbeat, of either protocol, or gRPC call came first.

Replies to requests, and requests to consumers, name a client by its id alone. So while a client is connected, another
account may not use its id. A client that reconnects has the same account, and may have several connections: its id is
free when all of them are closed or silent. Two accounts may share one connection: some libraries have one connection,
and one id, for all producers and consumers of a process.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Peer
from rocketwire.wire.names import MAX_CLIENT_ID_LENGTH

EXPIRY_SECONDS: Final = 120.0
"""After so long without a heartbeat a client's id is free: it is no member of its groups any more."""
_MOST_OF_CONNECTION: Final = 1024
"""The most ids of one connection: clients have one, or one for each part of a process."""


_NOT_HEARD: Final = {"": -math.inf}


class _Id:
    """When which accounts were last heard under one client id on each connection, in seconds of the event loop."""

    __slots__ = ("__weakref__", "heard")

    def __init__(self) -> None:
        self.heard: WeakKeyDictionary[Peer, dict[str, float]] = WeakKeyDictionary()

    def forget_closed(self, oldest: float) -> None:
        """Forget connections that are closed or silent since before a time."""
        for peer, accounts in list(self.heard.items()):
            if peer.closed or max(accounts.values()) < oldest:
                del self.heard[peer]


class _Connection:
    """The account that was last heard on a connection, and the ids, the one that was heard last at the end."""

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
        self._reserved: set[str] = set()

    def reserve(self, client_id: str) -> None:
        """Let no account use an id, which is the server's own."""
        self._reserved.add(client_id)

    def may_use(self, client_id: str, account: str, peer: Peer) -> bool:
        """Whether an account may act under a client id on a connection.

        It may not while the id belongs to another account, whose client is connected on other connections only.
        """
        if client_id in self._reserved:
            return False
        found = self._of_ids.get(client_id)
        if found is None or account in found.heard.get(peer, ()):
            return True
        found.forget_closed(self._now() - EXPIRY_SECONDS)
        heard = found.heard
        return not heard or peer in heard or any(account in accounts for accounts in heard.values())

    def heard(self, client_id: str, account: str, peer: Peer) -> None:
        """Note a heartbeat or call that is admitted; an empty account is that of an address that needs none.

        Raises:
            LimitExceeded: the id is too long, or too many ids of the connection are in use.
        """
        if len(client_id) > MAX_CLIENT_ID_LENGTH:
            raise LimitExceeded("clientIdLength", MAX_CLIENT_ID_LENGTH)
        connection = self._of_peers.setdefault(peer, _Connection())
        self._make_room(connection, client_id, peer)
        found = self._of_ids.setdefault(client_id, _Id())
        found.heard.setdefault(peer, {})[account] = self._now()
        connection.account = account
        connection.ids[client_id] = found
        connection.ids.move_to_end(client_id)

    def _make_room(self, connection: _Connection, client_id: str, peer: Peer) -> None:
        """Forget ids under which a connection has been silent, if it has no room for another one."""
        oldest = self._now() - EXPIRY_SECONDS
        while client_id not in connection.ids and len(connection.ids) >= _MOST_OF_CONNECTION:
            name, found = next(iter(connection.ids.items()))
            if max(found.heard.get(peer, _NOT_HEARD).values()) >= oldest:
                raise LimitExceeded("clientsPerConnection", _MOST_OF_CONNECTION)
            del connection.ids[name]
            found.heard.pop(peer, None)

    def account(self, peer: Peer) -> str:
        """The account that was last heard on a connection; empty: there was none."""
        connection = self._of_peers.get(peer)
        return "" if connection is None else connection.account
