"""Takes connections that begin with the preface of HTTP/2, on whatever port they come.

All that speaks gRPC is imported and made with the first of them. That takes 0.2 s, in a thread: others do not wait.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import trio

from rocketwire import native
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.long_tasks import LongTaskScheduler, PausedTask, in_thread
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.guard import CallAccounts
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.grpc.tables.directories import GroupDirectory, TopicDirectory
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.http2 import make_http2
from rocketwire.server.net.rounds import ReadRounds
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.services import PopServices
from rocketwire.server.send.kernel import KernelSends
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.topics.topics import BrokerTopics

if TYPE_CHECKING:
    from rocketwire.server.grpc.calls import GrpcMethod
    from rocketwire.server.grpc.clients import GrpcClient, GrpcClients
    from rocketwire.server.grpc.consuming.handles import HeldDeliveries
    from rocketwire.server.grpc.consuming.receiving import ReceivingServices
    from rocketwire.server.grpc.transport.connection import GrpcConnection
    from rocketwire.server.grpc.transport.context import FastPath, GrpcContext, RequestDispatch
    from rocketwire.wire.http2.events import Http2

_MIB: Final = 1 << 20
_MOST_HEADER_LIST: Final = 64 << 10
_MOST_STREAMS: Final = 10_000
_WINDOW: Final = 16 * _MIB
_MODULES: Final = (
    "rocketwire.server.grpc.transport.connection",
    "rocketwire.server.grpc.methods",
    "rocketwire.server.grpc.kernel",
    "rocketwire.server.grpc.consuming.kernel_receives",
    "rocketwire.server.grpc.consuming.kernel_acks",
)
"""What connections need, with all that it imports: protobuf and HTTP/2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCallParts:
    """What the kernel's way of plain calls is made of."""

    metrics: Metrics
    pops: PopServices
    sends: KernelSends | None
    storing: MessageWriter
    topics: BrokerTopics
    invalidation: CacheInvalidation


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcParts:
    """What calls of 5.x clients use beside dispatch.

    Attributes:
        clock: The time of records and handles.
        groups: The consumer groups.
        held: Makes the table of deliveries that are renewed; None: the broker renews them.
        keys: The keys of calls.
        kernel: Gives the kernel's way of sends, None if there is none; called with the first connection.
        plain: Gives what else serves plain calls, by path; called likewise.
        renewals: Renews what connected clients have popped.
        send_keys: The keys of sends.
        tasks: Run beside the server.
        topics: The topics.
        turns: Numbers that select the queue of a message without a message group.
    """

    clock: Clock
    groups: GroupDirectory
    keys: LiveGroup[GrpcKeys]
    renewals: Renewals
    send_keys: LiveGroup[SendKeys]
    topics: TopicDirectory
    held: Callable[[], HeldDeliveries] | None = None
    kernel: Callable[[], KernelCallParts | None] = lambda: None
    plain: Callable[[], Mapping[str, FastPath]] = dict
    tasks: Sequence[Callable[[], Awaitable[object]]] = ()
    turns: Iterator[int] = field(default_factory=count)


class GrpcServer:
    """Makes connections of 5.x clients.

    Args:
        parts: The parts of the broker.
        dispatch: Serves the requests that calls are translated into.
        peer_closed: Called for calls and clients that are closed.
        connection_closed: Called for connections that are closed.
        guarded: Whether guards check the client's account.
        accounts: Decide whose call it is and which client ids it may use; None: there are no accounts.
        kernel_guarded: Whether Python must see every request now.
        note: Called for requests that dispatch does not see, with their code, how many seconds they took, and their
                number.
        in_flight: Counts the bytes in flight.
        works: Carries out long work.
    """

    def __init__(
        self,
        parts: GrpcParts,
        dispatch: RequestDispatch,
        *,
        peer_closed: Callable[[Any], None],
        connection_closed: Callable[[Any], None],
        guarded: bool,
        accounts: CallAccounts | None = None,
        kernel_guarded: Callable[[], bool],
        note: Callable[[int, float, int], None] | None = None,
        in_flight: InFlight,
        works: LongTaskScheduler,
    ) -> None:
        self._parts = parts
        self._dispatch = dispatch
        self._peer_closed = peer_closed
        self._connection_closed = connection_closed
        self._guarded = guarded
        self._accounts = accounts
        self._kernel_guarded = kernel_guarded
        self._note = note
        self._in_flight = in_flight
        self._works = works
        self._serving: GrpcContext | None = None
        self._clients: GrpcClients | None = None
        self._rounds = ReadRounds(in_flight) if hasattr(select, "epoll") else None
        self._made = trio.Event()
        self._preparing = trio.Lock()

    @property
    def is_prepared(self) -> bool:
        """Whether connections can be taken."""
        return self._serving is not None

    async def prepare(self) -> None:
        """Import and make what all connections need; nothing happens the second time."""
        async with self._preparing:
            if self._serving is None:
                work = in_thread(_import_modules)
                paused = self._works.start(work)
                if isinstance(paused, PausedTask):
                    await self._works.finish(work, paused)
                self._serving = self._make()
                self._made.set()

    def serve_connection(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        first: bytes,
        *,
        nursery: trio.Nursery,
        on_close: Callable[[Any], None],
    ) -> GrpcConnection:
        """Serve a connection of which `first` was read, after `prepare`; `on_close` is called once it is closed."""
        from rocketwire.server.grpc.transport.connection import GrpcConnection  # noqa: PLC0415 - it brings protobuf and HTTP/2 along

        assert self._serving is not None  # noqa: S101 - see above
        connection = GrpcConnection(sock, remote, self._serving, nursery=nursery, on_close=on_close)
        nursery.start_soon(connection.run, first)
        return connection

    def _make(self) -> GrpcContext:
        # What these import costs memory and time, for those only who need it.
        from rocketwire.server.grpc import (  # noqa: PLC0415 - see above
            methods,
            routing,
            sending,
            settings,
            telemetry,
            transactions,
        )
        from rocketwire.server.grpc.clients import GrpcClients  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.consuming import acknowledging, handles, receiving  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.cancel_queue import CancelQueue  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.context import GrpcContext  # noqa: PLC0415 - see above
        from rocketwire.server.grpc.transport.request_bounds import RequestBounds  # noqa: PLC0415 - see above

        parts = self._parts
        pending = transactions.PendingTransactions(trio.current_time)
        held = handles.HeldDeliveries() if parts.held is None else parts.held()

        def client_closed(client: GrpcClient) -> None:
            held.forget(client)  # visible again when their time is up
            self._peer_closed(client)

        clients = self._clients = GrpcClients(self._in_flight, client_closed, parts.renewals, self._accounts)
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

        def closed(connection: GrpcConnection) -> None:
            clients.connection_closed(connection)
            self._connection_closed(connection)

        table = methods.methods(services)
        return GrpcContext(
            methods=table,
            streams=methods.streams(services),
            dispatch=self._dispatch,
            cancelling=CancelQueue(),
            peer_closed=self._peer_closed,
            closed=closed,
            kept_of=clients.kept_of,
            guarded=self._guarded,
            accounts=self._accounts,
            bounds=RequestBounds(),
            http2=self._http2,
            no_http2=self._http2(),
            in_flight=self._in_flight,
            works=self._works,
            rounds=self._rounds,
            rest=trio.Lock(),
            fast_paths=self._plain(services.receiving, table),
        )

    def _plain(self, receiving: ReceivingServices, methods: Mapping[str, GrpcMethod]) -> Mapping[str, FastPath]:
        from rocketwire.server.grpc import kernel  # noqa: PLC0415 - see `_make`
        from rocketwire.server.grpc.consuming import kernel_acks, kernel_receives  # noqa: PLC0415 - see `_make`

        parts = self._parts
        kernel_parts = parts.kernel()
        found: dict[str, FastPath] = dict(parts.plain())
        if native.kernel is None or kernel_parts is None:
            return found
        if kernel_parts.sends is not None:
            found[kernel.SEND] = kernel.KernelSendCalls(
                sends=kernel_parts.sends,
                topics=kernel_parts.topics,
                keys=parts.keys,
                send_keys=parts.send_keys,
                clock=parts.clock,
                guarded=self._kernel_guarded,
                note=self._note,
                invalidation=kernel_parts.invalidation,
            )
        shared = kernel.KernelCallServices(
            storing=kernel_parts.storing,
            metrics=kernel_parts.metrics,
            guarded=self._kernel_guarded,
            note=self._note,
        )
        pops = kernel_parts.pops
        found[kernel_receives.PATH] = kernel_receives.KernelReceives(
            shared,
            receiving,
            methods[kernel_receives.PATH],
            pops=pops,
            invalidation=kernel_parts.invalidation,
        )
        found[kernel_acks.PATH] = kernel_acks.KernelAcks(
            shared, acks=pops.acks, clients=receiving.clients, held=receiving.held, clock=parts.clock
        )
        return found

    async def run(self, budget: BackgroundBudget) -> None:
        """Read connections, cancel calls, and forget clients that are silent as background work; never returns."""
        async with trio.open_nursery() as nursery:
            for task in self._parts.tasks:
                nursery.start_soon(task)
            await self._made.wait()
            if self._rounds is not None:
                nursery.start_soon(self._rounds.run)
            if self._clients is not None:
                nursery.start_soon(self._clients.run, budget)
                nursery.start_soon(self._clients.run_leaving)
            if self._serving is not None:
                nursery.start_soon(self._serving.cancelling.run)

    def _http2(self) -> Http2:
        """The protocol's state of one connection."""
        from rocketwire.wire.grpc.bounds import OTHER_BYTES, request_bytes  # noqa: PLC0415 - see `_make`
        from rocketwire.wire.grpc.methods import STREAMING  # noqa: PLC0415 - see `_make`

        return make_http2(
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
