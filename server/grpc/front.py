"""Takes connections that begin with the preface of HTTP/2, on whatever port they come.

All that speaks gRPC is imported and made with the first of them. That takes 0.2 s, in a thread: others do not wait.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import trio

from rocketwire import native
from rocketwire.server.config.live import Live
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Proof
from rocketwire.server.core.works import Paused, Works, apart
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.tables.groups import Groups
from rocketwire.server.grpc.tables.topics import Topics
from rocketwire.server.messages.storing import Storing
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.http2 import server_connection
from rocketwire.server.pop.services import PopServices
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.topics.topics import BrokerTopics

if TYPE_CHECKING:
    from rocketwire.server.grpc.calls import Method
    from rocketwire.server.grpc.clients import Client, Clients, Presence
    from rocketwire.server.grpc.consuming.handles import Held
    from rocketwire.server.grpc.consuming.receiving import ReceivingServices
    from rocketwire.server.grpc.transport.connection import Connection
    from rocketwire.server.grpc.transport.serving import Dispatch, Plain, Serving
    from rocketwire.server.grpc.transport.turns import Turns
    from rocketwire.wire.http2.events import Http2

_MIB: Final = 1 << 20
_MOST_HEADER_LIST: Final = 64 << 10
_MOST_STREAMS: Final = 10_000
_WINDOW: Final = 16 * _MIB
_MODULES: Final = (
    "rocketwire.server.grpc.transport.connection",
    "rocketwire.server.grpc.methods",
    "rocketwire.server.grpc.kernel",
    "rocketwire.server.grpc.consuming.plain_receives",
    "rocketwire.server.grpc.consuming.plain_acks",
)
"""What connections need, with all that it imports: protobuf and HTTP/2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParts:
    """What the kernel's way of plain calls is made of."""

    metrics: Metrics
    pops: PopServices
    sends: KernelSends | None
    storing: Storing
    topics: BrokerTopics
    invalidation: CacheInvalidation


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What 5.x clients reach beside what dispatch knows.

    Attributes:
        clock: The time of records and handles.
        groups: The consumer groups.
        held: Makes the table of deliveries that are renewed; None: the broker renews them.
        keys: The keys of calls.
        kernel: Gives the kernel's way of sends, None if there is none; called with the first connection.
        plain: Gives what else serves plain calls, by path; called likewise.
        presence: Is told who is here.
        send_keys: The keys of sends.
        topics: The topics.
        turns: Numbers that say which queue a message without a message group goes to.
    """

    clock: Clock
    groups: Groups
    keys: Live[GrpcKeys]
    presence: Presence
    send_keys: Live[SendKeys]
    topics: Topics
    held: Callable[[], Held] | None = None
    kernel: Callable[[], KernelParts | None] = lambda: None
    plain: Callable[[], Mapping[str, Plain]] = dict
    turns: Iterator[int] = field(default_factory=count)


class Front:
    """Makes connections of 5.x clients.

    Args:
        parts: The parts of the broker.
        dispatch: Serves the requests that calls are translated into.
        peer_closed: Called for calls and clients that are gone.
        line_closed: Called for connections that are closed.
        guarded: Whether guards ask who a client is.
        identify: Refuses calls that no account has made, before their requests are read; None: there are no accounts.
        kernel_guarded: Whether Python must see every request now.
        note: Called for requests that dispatch does not see, with their code, how many seconds they took, and their
                number.
        in_flight: Counts the bytes in flight.
        works: Carries out long work.
    """

    def __init__(
        self,
        parts: Parts,
        dispatch: Dispatch,
        *,
        peer_closed: Callable[[Any], None],
        line_closed: Callable[[Any], None],
        guarded: bool,
        identify: Callable[[Proof], None] | None = None,
        kernel_guarded: Callable[[], bool],
        note: Callable[[int, float, int], None] | None = None,
        in_flight: InFlight,
        works: Works,
    ) -> None:
        self._parts = parts
        self._dispatch = dispatch
        self._peer_closed = peer_closed
        self._line_closed = line_closed
        self._guarded = guarded
        self._identify = identify
        self._kernel_guarded = kernel_guarded
        self._note = note
        self._in_flight = in_flight
        self._works = works
        self._serving: Serving | None = None
        self._clients: Clients | None = None
        self._turns: Turns | None = None
        self._made = trio.Event()
        self._preparing = trio.Lock()

    @property
    def prepared(self) -> bool:
        """Whether connections can be taken."""
        return self._serving is not None

    async def prepare(self) -> None:
        """Import and make what all connections need; nothing happens the second time."""
        async with self._preparing:
            if self._serving is None:
                work = apart(_import_modules)
                paused = self._works.begin(work)
                if isinstance(paused, Paused):
                    await self._works.go_on(work, paused)
                self._serving = self._make()
                self._made.set()

    def take(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        first: bytes,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[Any], None],
    ) -> Connection:
        """Serve a connection of which `first` was read, after `prepare`; `on_close` is called once it is closed."""
        from rocketwire.server.grpc.transport.connection import Connection  # noqa: PLC0415 - it brings protobuf and HTTP/2 along

        assert self._serving is not None  # noqa: S101 - see above
        connection = Connection(sock, remote, self._serving, nursery=nursery, on_close=on_close)
        nursery.start_soon(connection.run, first)
        return connection

    def _make(self) -> Serving:
        # What these import costs memory and time, for those only who need it.
        from rocketwire.server.grpc import (  # noqa: PLC0415 - see above
            methods,
            routing,
            sending,
            settings,
            telemetry,
            transactions,
        )
        from rocketwire.server.grpc.clients import Clients  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.consuming import acknowledging, handles, receiving  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.bounded import Bounds  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.cancelling import Cancelling  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.serving import Serving  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.turns import Turns  # noqa: PLC0415 - see above

        if hasattr(select, "epoll"):
            self._turns = Turns(self._in_flight)
        parts = self._parts
        pending = transactions.Pending(trio.current_time)
        held = handles.Held() if parts.held is None else parts.held()

        def gone(client: Client) -> None:
            held.forget(client)  # visible again when their time is up
            self._peer_closed(client)

        clients = self._clients = Clients(self._in_flight, gone, parts.presence)
        services = methods.Services(
            acknowledging=acknowledging.AcknowledgingServices(clients=clients, clock=parts.clock, held=held),
            receiving=receiving.ReceivingServices(
                clients=clients, clock=parts.clock, groups=parts.groups, held=held, topics=parts.topics
            ),
            routing=routing.RoutingServices(groups=parts.groups, topics=parts.topics),
            sending=sending.SendingServices(
                clock=parts.clock,
                keys=parts.keys,
                send_keys=parts.send_keys,
                pending=pending,
                topics=parts.topics,
                turns=parts.turns,
            ),
            telemetry=telemetry.TelemetryServices(
                clients=clients,
                clock=parts.clock,
                pending=pending,
                settings=settings.SettingsServices(groups=parts.groups, send_keys=parts.send_keys),
                held=held,
            ),
            transactions=transactions.TransactionServices(pending=pending, topics=parts.topics),
        )

        def closed(connection: Connection) -> None:
            clients.line_closed(connection)
            self._line_closed(connection)

        table = methods.methods(services)
        return Serving(
            methods=table,
            streams=methods.streams(services),
            dispatch=self._dispatch,
            cancelling=Cancelling(),
            peer_closed=self._peer_closed,
            closed=closed,
            guarded=self._guarded,
            identify=self._identify,
            bounds=Bounds(),
            http2=self._http2,
            no_http2=self._http2(),
            in_flight=self._in_flight,
            works=self._works,
            turns=self._turns,
            rest=trio.Lock(),
            plain=self._plain(services.receiving, table),
        )

    def _plain(self, receiving: ReceivingServices, methods: Mapping[str, Method]) -> Mapping[str, Plain]:
        from rocketwire.server.grpc import kernel  # noqa: PLC0415 - see `_make`
        from rocketwire.server.grpc.consuming import plain, plain_acks, plain_receives  # noqa: PLC0415 - see `_make`

        parts = self._parts
        kernel_parts = parts.kernel()
        found: dict[str, Plain] = dict(parts.plain())
        if native.kernel is None or kernel_parts is None:
            return found
        if kernel_parts.sends is not None:
            found[kernel.SEND] = kernel.KernelCalls(
                sends=kernel_parts.sends,
                topics=kernel_parts.topics,
                keys=parts.keys,
                send_keys=parts.send_keys,
                clock=parts.clock,
                guarded=self._kernel_guarded,
                note=self._note,
                invalidation=kernel_parts.invalidation,
            )
        shared = plain.PlainParts(
            storing=kernel_parts.storing,
            metrics=kernel_parts.metrics,
            guarded=self._kernel_guarded,
            note=self._note,
        )
        pops = kernel_parts.pops
        found[plain_receives.PATH] = plain_receives.PlainReceives(
            shared,
            receiving,
            methods[plain_receives.PATH],
            pops=pops,
            invalidation=kernel_parts.invalidation,
        )
        found[plain_acks.PATH] = plain_acks.PlainAcks(
            shared, acks=pops.acks, clients=receiving.clients, held=receiving.held, clock=parts.clock
        )
        return found

    async def run(self, budget: BackgroundBudget) -> None:
        """Read connections, and forget clients that are silent as background work; never returns."""
        await self._made.wait()
        async with trio.open_nursery() as nursery:
            if self._turns is not None:
                nursery.start_soon(self._turns.run)
            if self._clients is not None:
                nursery.start_soon(self._clients.run, budget)
            if self._serving is not None:
                nursery.start_soon(self._serving.cancelling.run)

    def _http2(self) -> Http2:
        """The protocol's state of one connection."""
        from rocketwire.wire.grpc.bounds import OTHER_BYTES, request_bytes  # noqa: PLC0415 - see `_make`
        from rocketwire.wire.grpc.methods import STREAMING  # noqa: PLC0415 - see `_make`

        return server_connection(
            streaming=STREAMING,
            max_message=OTHER_BYTES,
            longest=request_bytes(self._parts.send_keys.current.max_message_size),
            max_header_list=_MOST_HEADER_LIST,
            max_streams=_MOST_STREAMS,
            window=_WINDOW,
        )


def _import_modules() -> None:
    for name in _MODULES:
        import_module(name)
