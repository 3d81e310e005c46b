"""A pool of connections to other servers: one for each address, shared by all requests to that server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from rocketwire.remoting.core.session import ClientRequest, Response, SignRequest
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.upstream.broker_connection import (
    BrokerConnection,
    OnAnswer,
    OnAnswerTime,
    OnRequest,
    connect,
)
from rocketwire.server.upstream.connecting import (
    CONNECT_SECONDS,
    Connect,
    RequestNotSent,
    UpstreamConnectionError,
    connect_plain,
)
from rocketwire.server.upstream.requests import send_request, send_requests
from rocketwire.store.event import Event
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError

log = logging.getLogger(__name__)


class ConnectionPool:
    """The connections; each is made with the first request to its server, and made again when it was lost.

    Args:
        connecting: Makes a connection.
        signing: Signs each request; None: they are not signed.
        on_answer_time: Gets the time of each answer; None: it is not measured.
        signs: Whether `signing` changes requests now.
        dialled: The descriptors that connections which are not shared take; None: they are not counted.

    Attributes:
        settled: Called when all answers of a read have been passed on.
    """

    def __init__(
        self,
        connecting: Connect = connect_plain,
        signing: SignRequest | None = None,
        on_answer_time: OnAnswerTime | None = None,
        signs: Callable[[], bool] = lambda: True,
        dialled: DescriptorBudget | None = None,
    ) -> None:
        self._connecting_by = connecting
        self._signing = signing
        self._on_answer_time = on_answer_time
        self._signs = signs
        self._dialled = DescriptorBudget() if dialled is None else dialled
        self.settled = Event[[]]()
        self._connections: dict[Address, BrokerConnection] = {}
        self._connecting: dict[Address, trio.Lock] = {}
        self._nursery: trio.Nursery | None = None
        self._runs = trio.Event()

    def with_new_connections(self) -> ConnectionPool:
        """Others that are made in the same way, and are not measured."""
        return ConnectionPool(self._connecting_by, self._signing, signs=self._signs)

    async def run(self) -> None:
        """Run the connections; never returns."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._runs.set()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None
                for connection in self._connections.values():
                    connection.close()

    def open_connection(self, address: Address) -> BrokerConnection | None:
        """The connection to a server, if there is one now: what is sent on it need not wait."""
        connection = self._connections.get(address)
        return None if connection is None or connection.closed.is_set() else connection

    @property
    def signs(self) -> bool:
        """Whether requests are signed now."""
        return self._signing is not None and self._signs()

    @property
    def open(self) -> int:
        """How many shared connections there are."""
        return sum(not connection.closed.is_set() for connection in self._connections.values())

    def send(
        self, address: Address, request: ClientRequest, *, seconds: float, done: OnAnswer
    ) -> BrokerConnection | None:
        """Write a request; `done` gets the answer, perhaps before this returns.

        Returns:
            The connection, which the caller is to flush; None: there was none, and the request waits for it.

        Raises:
            WireError: it does not fit in a frame.
        """
        connection = self.open_connection(address)
        if connection is not None:
            connection.send(request, seconds=seconds, done=done)
            return connection
        if not self.start(self._send_later, address, request._replace(body=bytes(request.body)), seconds, done):
            done(RequestNotSent(f"{address}: no connections are made any more"))
        return None

    async def _send_later(self, address: Address, request: ClientRequest, seconds: float, done: OnAnswer) -> None:
        try:
            connection = await self.get_connection(address)
            connection.send(request, seconds=seconds, done=done)
        except UpstreamConnectionError as error:
            done(error)
        except WireError as error:
            done(RequestNotSent(str(error)))
        else:
            connection.flush()

    async def send_request(
        self, address: Address, request: ClientRequest, *, seconds: float = CONNECT_SECONDS
    ) -> Response:
        """The answer of a server to a request.

        Raises:
            UpstreamConnectionError: it cannot be reached, closed the connection, or did not answer within `seconds`.
        """
        connection = self.open_connection(address) or await self.get_connection(address)
        return await send_request(connection, request, seconds=seconds)

    async def send_requests(
        self, address: Address, requests: Sequence[ClientRequest], *, seconds: float
    ) -> list[Response | UpstreamConnectionError]:
        """The answers of a server, or why there are none.

        Raises:
            WireError: a request does not fit in a frame.
        """
        try:
            connection = self.open_connection(address) or await self.get_connection(address)
        except UpstreamConnectionError as reason:
            return [reason] * len(requests)
        return await send_requests(connection, requests, seconds=seconds)

    async def get_connection(self, address: Address) -> BrokerConnection:
        """The connection to a server.

        Raises:
            RequestNotSent: it cannot be reached.
        """
        await self._runs.wait()
        async with self._connecting.setdefault(address, trio.Lock()):
            connection = self.open_connection(address)
            if connection is None:
                connection = self._connections[address] = await self._connect(address, None)
        return connection

    def drop(self, address: Address) -> None:
        """Close the connection to a server; the next request to it makes another."""
        connection = self._connections.get(address)
        if connection is not None:
            connection.close()

    async def start_connecting(self, address: Address, on_request: OnRequest | None = None) -> BrokerConnection:
        """A connection that is not shared; the caller has to close it.

        Args:
            address: The server's.
            on_request: Called with each request of the server.

        Raises:
            RequestNotSent: it cannot be reached.
        """
        await self._runs.wait()
        if not self._dialled.take():
            raise RequestNotSent(f"{address}: no descriptors are left for connections")
        try:
            connection = await self._connect(address, on_request)
        except BaseException:
            self._dialled.give_back()
            raise
        if not self.start(self._give_back, connection):
            self._dialled.give_back()
        return connection

    async def _give_back(self, connection: BrokerConnection) -> None:
        await connection.closed.wait()
        self._dialled.give_back()

    async def _connect(self, address: Address, on_request: OnRequest | None) -> BrokerConnection:
        if self._nursery is None:
            raise RequestNotSent(f"{address}: no connections are made any more")
        return await connect(
            address,
            self._nursery,
            on_request=on_request,
            settled=self.settled,
            connecting=self._connecting_by,
            signing=self._signing,
            on_answer_time=self._on_answer_time,
        )

    def start(self, task: Callable[..., Awaitable[Any]], *args: Any) -> bool:  # noqa: ANN401 - what the task takes
        """Run a task as long as `run` does, or return False: it has ended. If the task fails, that is logged."""
        if self._nursery is None:
            return False
        self._nursery.start_soon(_run_logged, task, *args)
        return True


async def _run_logged(task: Callable[..., Awaitable[Any]], *args: Any) -> None:  # noqa: ANN401 - what the task takes
    try:
        await task(*args)
    except Exception:  # what one server sends must not end the tasks of all
        log.exception("a task that asks other servers")
