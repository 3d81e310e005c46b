"""What all gRPC connections of a broker share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import trio

from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.request import Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.dispatch.guard import CallAccounts
from rocketwire.server.grpc.calls import Call, GrpcMethod
from rocketwire.server.grpc.metadata import read_proof
from rocketwire.server.grpc.transport.cancel_queue import CancelQueue
from rocketwire.server.grpc.transport.request_bounds import RequestBounds
from rocketwire.server.grpc.transport.streams import StreamFactory
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.rounds import ReadRounds
from rocketwire.wire.grpc.methods import ANONYMOUS
from rocketwire.wire.http2.events import Event, Http2

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection


class RequestDispatch(Protocol):
    """Serves the requests of one read."""

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Handle requests in order; return how many were handled before the connection had to pause."""

    def settle(self) -> None:
        """Called when the answers are sent."""


class FastPath(Protocol):
    """Serves plain calls of one method, those of a read together."""

    @property
    def overtakes(self) -> bool:
        """Whether calls may be served before others that came earlier in the same read."""

    @property
    def most(self) -> int:
        """The most calls that `serve` takes at once: after fewer, the next one is not plain."""

    def serve(self, events: list[Event], connection: GrpcConnection) -> int:
        """Serve the calls that events begin with, up to the first that is not plain, and return how many these are.

        Their answers go to `connection.answer_unary_calls`, now or later.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcContext:
    """What all gRPC connections of a broker share.

    Attributes:
        methods: The methods by path.
        streams: The methods whose requests are streams, by path: what makes the server's end of one.
        dispatch: Serves the requests that calls are translated into.
        cancelling: Cancels calls that ended before their answers were sent.
        peer_closed: Called for each call that ended before its requests were answered.
        closed: Called with a connection that is closed.
        kept_of: How many bytes in flight are kept for the clients of a connection.
        guarded: Whether guards check the client's account.
        accounts: Decide whose call it is; None: there are no accounts.
        bounds: Refuse requests that are too large.
        http2: Makes the protocol's state of a connection.
        no_http2: That of connections that are closed: it has no calls, so it keeps no answers.
        in_flight: Counts the bytes in flight.
        works: Carries out long work.
        rounds: Reads many connections together; None: each is read by a separate task.
        rest: Held by the connection that serves the rest of a read, for one pass of the event loop.
        fast_paths: By path, what serves plain calls in a shorter way.
    """

    methods: Mapping[str, GrpcMethod]
    streams: Mapping[str, StreamFactory]
    dispatch: RequestDispatch
    cancelling: CancelQueue
    peer_closed: Callable[[Call], None]
    closed: Callable[[GrpcConnection], None]
    kept_of: Callable[[GrpcConnection], int]
    guarded: bool
    accounts: CallAccounts | None
    bounds: RequestBounds
    http2: Callable[[], Http2]
    no_http2: Http2
    in_flight: InFlight
    works: LongTaskScheduler
    rounds: ReadRounds | None
    rest: trio.Lock
    fast_paths: Mapping[str, FastPath]

    def identify_caller(self, path: str, headers: Mapping[str, str], remote: str) -> None:
        """Check that an account has made a call from an address, if there are accounts.

        Raises:
            ServerError: none has.
        """
        if self.accounts is not None and path not in ANONYMOUS:
            self.accounts.identify(read_proof(headers, remote))
