"""Requests of clients with accounts that are not passed on at once: the proxy first sends another request.

If a request names a message by its physical offset, the proxy fetches the message's topic. For a query by key it sends
the query, and removes messages of other topics from the answer: Apache's brokers answer with all messages whose topic
and key have the hash of the query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import trio

from rocketwire.server.core.request import Reply
from rocketwire.server.core.server_error import ServerError
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.tunnels import Tunnel
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.queries import RemoteQueries
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header

if TYPE_CHECKING:  # for annotations: it needs a YAML parser, imported only where access control is on
    from rocketwire.server.acl.control import AccessControl

_MOST: Final = 16
"""Requests of one client that wait so; the client's later requests wait, too, for one more."""


class EdgeAccounts(NamedTuple):
    """The requests of a proxy with edge accounts to brokers: for topics of messages, and by key."""

    access: AccessControl
    places: MessagePlaces
    queries: RemoteQueries


class IncomingFrame(NamedTuple):
    """A request of a client, and the loop's time when it came, in seconds."""

    frame: RawFrame
    header: Header
    at: float


class FrameHandler(Protocol):
    """Carries out the decisions about requests."""

    def pass_on(self, tunnel: Tunnel, incoming: IncomingFrame) -> None:
        """Pass a request to the broker."""

    def refuse_for(self, session: Session, incoming: IncomingFrame, error: Exception) -> None:
        """Answer a request with the error for which it is not passed on."""

    def answer(self, session: Session, incoming: IncomingFrame, reply: Reply) -> None:
        """Answer a request."""


class HeldRequests:
    """The requests of one broker's clients that wait.

    Args:
        nursery: Runs the proxy's requests.
        accounts: Decide about requests.
        handler: Passes on, answers or refuses requests.
    """

    def __init__(self, nursery: trio.Nursery, accounts: EdgeAccounts, handler: FrameHandler) -> None:
        self._nursery = nursery
        _, self._places, self._queries = accounts
        self._handler = handler
        self._waiting: Counter[Session] = Counter()

    def takes(self, session: Session, tunnel: Tunnel, incoming: IncomingFrame) -> bool:
        """Take a request that is not to be passed on now; False: it is."""
        if incoming.header.code == RequestCode.QUERY_MESSAGE:
            # One at a time: its answer may be large, and is in memory until the client has read it.
            self._begin(session, incoming, partial(self._query, session, tunnel), most=0)
            return True
        try:
            place = self._places.to_decide(session, incoming.header)
        except (ServerError, WireError) as error:
            self._handler.refuse_for(session, incoming, error)
            return True
        if place is None:
            return False
        self._begin(session, incoming, partial(self._decide, session, tunnel, place))
        return True

    def _begin(
        self,
        session: Session,
        incoming: IncomingFrame,
        task: Callable[[IncomingFrame], Awaitable[None]],
        *,
        most: int = _MOST,
    ) -> None:
        """Carry out a task with a request, whose frame is a view that does not last; at most so many beside others."""
        frame = incoming.frame
        kept = frame._replace(header=memoryview(bytes(frame.header)), body=memoryview(bytes(frame.body)))
        size = len(kept.header) + len(kept.body)
        bound = partial(task, incoming._replace(frame=kept))
        if self._waiting.get(session, 0) >= most:
            session.run_long_request(bound, size)
            return
        self._waiting[session] += 1
        session.in_flight.add(size)
        self._nursery.start_soon(self._beside, session, size, bound)

    async def _beside(self, session: Session, size: int, task: Callable[[], Awaitable[None]]) -> None:
        """Carry out a task while the client's later requests are passed on."""
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in one request must not end the others
            session.failed(error)
        finally:
            session.in_flight.add(-size)
            self._waiting[session] -= 1
            if not self._waiting[session]:
                del self._waiting[session]

    async def _decide(self, session: Session, tunnel: Tunnel, place: int, incoming: IncomingFrame) -> None:
        """Pass a request on once it is decided by the topic of the message that it names."""
        try:
            await self._places.decide(session, incoming.header, place, tunnel.address)
        except Exception as error:  # noqa: BLE001 - it is logged; an undecided request is refused
            self._handler.refuse_for(session, incoming, error)
            session.flush()
            return
        if not session.closed:
            self._handler.pass_on(tunnel, incoming)
            tunnel.flush()

    async def _query(self, session: Session, tunnel: Tunnel, incoming: IncomingFrame) -> None:
        if session.congested:
            await session.drained()
        self._handler.answer(session, incoming, await self._queries.answer(incoming.header, tunnel.address))
        session.flush()
