"""The 5.x clients of a broker, by client id, whatever connections they have.

A client is a member of its groups as a connection of the remoting protocol is: the broker's own requests to it go to
its telemetry stream. It needs no settings to be served: what it subscribes to is learnt from its settings, and until
these come from what it receives.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.waiting import ExpiryRounds
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import STEP_SECONDS
from rocketwire.server.core.request import OnClientAnswer, Reply, Request
from rocketwire.server.dispatch.guard import CallAccounts
from rocketwire.server.grpc.tables.client_ids import ClientIdOwner
from rocketwire.server.grpc.tables.declarations import NO_DECLARATION, ClientDeclaration
from rocketwire.server.pop.renewals import Renewals

if TYPE_CHECKING:
    from rocketwire.server.grpc.calls import CallConnection
    from rocketwire.server.grpc.telemetry import TelemetrySession
    from rocketwire.server.net.admission.in_flight import InFlight

log = logging.getLogger(__name__)

_MOST_OF_CONNECTION: Final = 1024
_LIMIT: Final = "clientsPerConnection"
SILENT_SECONDS: Final = 120.0
"""After so long without a call a client is forgotten: SDKs send heartbeats every 10 s."""
_SCAN_SECONDS: Final = 10.0


_NOT_COUNTED: Final = 64 * 1024
_MOST_NOT_COUNTED: Final = 16
"""So many clients of one connection may say as much of themselves, in bytes, as a connection of the remoting protocol,
before that counts as in flight."""

_NO_CLIENTS: Final[dict[GrpcClient, None]] = {}


class GrpcClient:
    """One client: the peer of its groups' memberships.

    Attributes:
        client_id: Its id.
        account: The account that its id belongs to; empty: none, or there is no access control.
        claim: What calls in its name have in common until one is admitted.
        renewer: Its name in renewed deliveries: a later client with the same id has another one.
        renews: Whether it has received messages that are renewed, or tried to.
        remote_text: The ``host:port`` of the connection on which it last sent settings or a heartbeat.
        born_host: The same as records hold it.
        connections: Its connections, and when each last carried an answer to it, in seconds of the event loop.
        declaration: Its last settings, group and subscriptions; `declare` changes it.
        kept: Bytes that count as in flight while it is admitted.
        streams: Its open telemetry streams, the newest last.
        owner: The owner of its id.
        seen: When its last call was answered, in seconds of the event loop.
        admitted: Whether the guards have admitted a call of it.
        closed: Whether it has left or disconnected.
    """

    __slots__ = (
        "__weakref__",
        "_in_flight",
        "_of_declaration",
        "_of_heartbeat",
        "_spare",
        "account",
        "admitted",
        "born_host",
        "claim",
        "client_id",
        "closed",
        "connections",
        "declaration",
        "kept",
        "owner",
        "remote_text",
        "renewer",
        "renews",
        "seen",
        "streams",
    )

    def __init__(
        self, client_id: str, account: str, connection: CallConnection, in_flight: InFlight, spare: int = _NOT_COUNTED
    ) -> None:
        self.client_id = client_id
        self.account = account
        self.claim = _claim(client_id, account, connection)
        self.renewer = f"{client_id} {account}" if account else client_id
        self.remote_text, self.born_host = connection.remote_text, connection.born_host
        self.declaration = NO_DECLARATION
        self.streams: dict[TelemetrySession, None] = {}
        self.owner = ClientIdOwner(client_id, account)
        self.seen = trio.current_time()
        self.admitted = self.closed = self.renews = False
        self.connections: dict[CallConnection, float] = {}
        self._in_flight = in_flight
        self._spare = spare
        self._of_declaration = max(0, len(client_id) - spare)
        self._of_heartbeat = self.kept = 0

    def declare(self, said: ClientDeclaration) -> None:
        """Take what it says of itself."""
        if said is not self.declaration:
            self.declaration = said
            self._of_declaration = max(0, len(self.client_id) + said.cost - self._spare)
            self._count()

    # --- its telemetry streams

    @property
    def telemetry_stream(self) -> TelemetrySession | None:
        """The newest of its open telemetry streams, if there is one."""
        return next(reversed(self.streams)) if self.streams else None

    def stream_opened(self, stream: TelemetrySession, connection: CallConnection) -> None:
        """Note that it opened a telemetry stream on a connection.

        Without accounts its streams from other addresses end: it has moved, or a stranger had its id there.

        Raises:
            ClientIdTaken: it has meanwhile opened one at another address.
        """
        self.owner.check_place(connection.place, trio.current_time)
        newest = self.telemetry_stream  # without accounts all are at one address: it may have thousands
        if newest is not None and not self.owner.may_share(newest.place, connection.place):
            for other in list(self.streams):
                other.end_for_another_address(self.owner)
        self.streams.pop(stream, None)
        self.streams[stream] = None
        self.owner.stream_opened(connection.place, trio.current_time())

    def stream_ended(self, stream: TelemetrySession) -> None:
        """Note that a telemetry stream is over."""
        self.streams.pop(stream, None)
        if not self.streams:
            self.owner.streams_ended()

    # --- the peer

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Send a one-way request of the broker's own, if the client listens."""
        commands = self.telemetry_stream
        if commands is not None:
            commands.push(code, ext, body)

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: OnClientAnswer) -> None:
        """Send a request of the broker's own; `done` gets None if the client does not listen or does not answer."""
        commands = self.telemetry_stream
        if commands is None:
            done(None)
        else:
            commands.call(code, ext, body, seconds, done)

    def reply(self, request: Request[Any], reply: Reply) -> None:
        """Nothing: requests in its name are answered to their calls."""

    def flush(self) -> None:
        """Nothing: what is sent to its stream goes out at once."""

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for its heartbeat until it is closed."""
        self._of_heartbeat = size
        self._count()

    def _count(self) -> None:
        now = max(self._of_heartbeat, self._of_declaration) if self.admitted else 0
        more, self.kept = now - self.kept, now
        self._in_flight.add(more)

    def call_admitted(self, connection: CallConnection) -> None:
        """Note that a call of it was admitted on a connection."""
        if not self.admitted:
            self.admitted = True
            self._count()
        self.seen = trio.current_time()
        self.owner.note_call(connection.place, self.seen)
        self.remote_text, self.born_host = connection.remote_text, connection.born_host

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""
        self._in_flight.limits.count_refusal(error.key, self.remote_text)

    @property
    def congested(self) -> bool:
        """Whether it does not listen, or does not read what it is sent."""
        commands = self.telemetry_stream
        return commands is None or commands.congested

    def close(self) -> None:
        """Mark it as closed."""
        self.admitted, self.closed = False, True
        self._count()


def _claim(client_id: str, account: str, connection: CallConnection) -> tuple[str, str, str]:
    return client_id, account, "" if account else connection.place


def _stranger(client_id: str, connection: CallConnection, in_flight: InFlight) -> GrpcClient:
    """A client that receives under the id of one at another address: it is never connected under that id.

    So its messages are not renewed. Under the renewer of the other client they would be while that one is connected.
    """
    client = GrpcClient(client_id, "", connection, in_flight)
    client.renewer = f"{client_id} {connection.place}"
    client.close()
    return client


class GrpcClients:
    """The 5.x clients of one broker.

    Args:
        in_flight: Counts what is kept for them.
        peer_closed: Called when one is closed.
        renewals: Renews what connected clients have popped.
        accounts: Decide which client ids an account may use, by gRPC or the remoting protocol; None: there are none.
    """

    def __init__(
        self,
        in_flight: InFlight,
        peer_closed: Callable[[GrpcClient], None],
        renewals: Renewals,
        accounts: CallAccounts | None = None,
    ) -> None:
        self._in_flight = in_flight
        self._peer_closed = peer_closed
        self._renewals = renewals
        self._accounts = accounts
        self._clients: dict[str, GrpcClient] = {}
        # By id and account, without one by id and address, as long as calls in their names last.
        self._claimed: WeakValueDictionary[tuple[str, str, str], GrpcClient] = WeakValueDictionary()
        self._of_connections: dict[CallConnection, dict[GrpcClient, None]] = {}
        self._rounds = ExpiryRounds()
        self._without_connection: deque[GrpcClient] = deque()
        self._some_without = trio.Event()
        self._runs = False

    def find(self, client_id: str, account: str = "") -> GrpcClient | None:
        """The connected client of an account with this id, or None."""
        client = self._clients.get(client_id)
        return None if client is None or client.account != account else client

    def find_spoken_for(self, client_id: str, connection: CallConnection, account: str = "") -> GrpcClient | None:
        """The connected client with this id, for which a call on a connection speaks; None: there is none.

        Raises:
            ClientIdTaken: the id belongs to another account, or the client is alive at another address.
        """
        client = self._clients.get(client_id)
        if client is not None:
            client.owner.check_account(account)
            client.owner.check_place(connection.place, trio.current_time)
        return client

    def find_or_make(
        self, client_id: str, connection: CallConnection, account: str = "", *, speaks: bool = False
    ) -> GrpcClient:
        """The client with this id, which a call on a connection names; only guards decide whether the call may use it.

        A call from another address than the client's is that of another client, of which nothing is kept.

        Args:
            client_id: The id.
            connection: The connection.
            account: In whose name the call comes.
            speaks: Whether the call declares something about the client.

        Raises:
            ClientIdTaken: the id belongs to another account, or the call speaks for a client of another address.
            AccessRefused: a client of the remoting protocol has the id, and another account.
            LimitExceeded: too many clients use the connection.
        """
        client = self._clients.get(client_id) or self._claimed.get(_claim(client_id, account, connection))
        if client is not None:
            client.owner.check_account(account)
            if speaks:
                client.owner.check_place(connection.place, trio.current_time)
            elif client.owner.is_elsewhere(connection.place, trio.current_time):
                return _stranger(client_id, connection, self._in_flight)
        of_connection = self._of_connections.get(connection, _NO_CLIENTS)
        if client not in of_connection and len(of_connection) >= _MOST_OF_CONNECTION:
            raise LimitExceeded(_LIMIT, _MOST_OF_CONNECTION)
        if client is None:
            spare = _NOT_COUNTED if len(of_connection) < _MOST_NOT_COUNTED else 0
            client = GrpcClient(client_id, account, connection, self._in_flight, spare)
        if self._accounts is not None:
            self._accounts.check_client_id(client_id, account, client)
        if not client.admitted:
            self._claimed[client.claim] = client
        return client

    def kept_of(self, connection: CallConnection) -> int:
        """Bytes that are kept for the clients of a connection."""
        return sum([client.kept for client in self._of_connections.get(connection, _NO_CLIENTS)])

    def note_admitted(self, client: GrpcClient, connection: CallConnection) -> bool:
        """Note that a client is connected: guards have admitted a call of it on this connection.

        Returns whether it was a call of the client. It was not if the client has closed meanwhile, or has opened its
        telemetry stream at another address. If the connection is closed, a client without another one is closed; so is
        one whose id another client has by now, of either protocol.
        """
        if client.closed or client.owner.is_elsewhere(connection.place, trio.current_time):
            return False
        taken = not client.admitted and client.client_id in self._clients
        if connection.closed or taken or not self._gets_id(client):
            if not client.connections:
                self.leave(client)
            return False
        if not client.admitted:
            self._claimed.pop(client.claim, None)
            self._clients[client.client_id] = client
            client.renews |= self._renewals.client_arrived(client.renewer)
        client.call_admitted(connection)
        client.connections[connection] = client.seen
        self._of_connections.setdefault(connection, {})[client] = None
        return True

    def _gets_id(self, client: GrpcClient) -> bool:
        """Whether a client has its id from now on: not if it belongs to a remoting client of another account by now."""
        return self._accounts is None or self._accounts.note_client_id(client.client_id, client.account, client)

    def leave(self, client: GrpcClient, *, for_good: bool = False) -> None:
        """Forget a client; unless it is `for_good`, it may be back soon."""
        if not client.admitted:
            self._claimed.pop(client.claim, None)
        if self._clients.get(client.client_id) is client:
            del self._clients[client.client_id]
            self._renewals.client_left(client.renewer, for_good=for_good or not client.renews)
        for connection, answered in client.connections.items():
            self._of_connections[connection].pop(client, None)
            if client.renews and not for_good:
                self._renewals.connection_broke(client.renewer, connection.last_sign_of_life, answered)
        client.connections.clear()
        client.close()
        self._peer_closed(client)

    def connection_closed(self, connection: CallConnection) -> None:
        """Note that a connection is closed: clients that have no other one leave, soon if they are many."""
        for client in self._of_connections.pop(connection, {}):
            answered = client.connections.pop(connection)
            if client.renews:
                self._renewals.connection_broke(client.renewer, connection.last_sign_of_life, answered)
            if not client.connections:
                self._without_connection.append(client)
        self._let_some_leave()
        if self._without_connection:
            self._some_without.set()

    def _let_some_leave(self) -> None:
        """Have clients without a connection leave, as far as one step goes; all if no task does the rest."""
        until = trio.current_time() + STEP_SECONDS
        while self._without_connection and (trio.current_time() < until or not self._runs):
            client = self._without_connection.popleft()
            if not client.closed and not client.connections:  # it has not come back meanwhile
                self.leave(client)

    async def run_leaving(self) -> None:
        """Have clients leave whose connections were closed; never returns."""
        self._runs = True
        try:
            while True:
                await self._some_without.wait()
                self._some_without = trio.Event()
                while self._without_connection:
                    await trio.lowlevel.checkpoint()
                    self._let_some_leave()
        finally:
            self._runs = False
            self._let_some_leave()

    async def run(self, budget: BackgroundBudget) -> None:
        """Forget clients that are silent, as background work; never returns."""
        while True:
            await self._rounds.pause(_SCAN_SECONDS)
            await budget.carry_out(self._forgetting(self._rounds.limit(SILENT_SECONDS)))

    def _forgetting(self, limit: float) -> Generator[None, None, None]:
        """Forget clients that were last heard of before a time, one in each step."""
        silent, last = 0, ""
        for client in [each for each in self._clients.values() if each.seen < limit]:
            if self._clients.get(client.client_id) is client and client.seen < limit:
                self.leave(client)
                silent, last = silent + 1, client.client_id
            yield
        if silent:
            log.info("%(count)d 5.x clients made no call, the last: %(last)s", {"count": silent, "last": last})
