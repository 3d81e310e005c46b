"""A pool of connections to other servers: one for each address, shared by all who ask that server something."""

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
    UpstreamUnreachable,
    connect_plain,
)
from rocketwire.server.upstream.requests import ask, ask_together
from rocketwire.store.event import Event
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError

log = logging.getLogger(__name__)


class ConnectionPool:
    """The connections; each is made with the first request to its server, and made again when it was lost.

    Args:
        connecting: Makes a connection.
        signing: Signs each request; None: nobody does.
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
        self._lines: dict[Address, BrokerConnection] = {}
        self._connecting: dict[Address, trio.Lock] = {}
        self._nursery: trio.Nursery | None = None
        self._runs = trio.Event()

    def with_new_connections(self) -> ConnectionPool:
        """Others that are made in the same way, and that nobody measures."""
        return ConnectionPool(self._connecting_by, self._signing, signs=self._signs)

    async def run(self) -> None:
        """Carry the connections; never returns."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._runs.set()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None
                for line in self._lines.values():
                    line.close()

    def open_connection(self, address: Address) -> BrokerConnection | None:
        """The connection to a server, if there is one now: what is sent on it need not wait."""
        line = self._lines.get(address)
        return None if line is None or line.closed.is_set() else line

    @property
    def signs(self) -> bool:
        """Whether requests are signed now."""
        return self._signing is not None and self._signs()

    @property
    def open(self) -> int:
        """How many there are that all share."""
        return sum(not line.closed.is_set() for line in self._lines.values())

    def send(
        self, address: Address, request: ClientRequest, *, seconds: float, done: OnAnswer
    ) -> BrokerConnection | None:
        """Write a request; `done` gets the answer, perhaps before this returns.

        Returns:
            The connection, which the caller is to flush; None: there was none, and the request waits for it.

        Raises:
            WireError: it does not fit in a frame.
        """
        line = self.open_connection(address)
        if line is not None:
            line.send(request, seconds=seconds, done=done)
            return line
        if not self.start(self._send_later, address, request._replace(body=bytes(request.body)), seconds, done):
            done(RequestNotSent(f"{address}: no connections are made any more"))
        return None

    async def _send_later(self, address: Address, request: ClientRequest, seconds: float, done: OnAnswer) -> None:
        try:
            line = await self.get_connection(address)
            line.send(request, seconds=seconds, done=done)
        except UpstreamUnreachable as error:
            done(error)
        except WireError as error:
            done(RequestNotSent(str(error)))
        else:
            line.flush()

    async def ask(self, address: Address, request: ClientRequest, *, seconds: float = CONNECT_SECONDS) -> Response:
        """The answer of a server to a request.

        Raises:
            UpstreamUnreachable: it cannot be reached, closed the connection, or did not answer within `seconds`.
        """
        line = self.open_connection(address) or await self.get_connection(address)
        return await ask(line, request, seconds=seconds)

    async def ask_together(
        self, address: Address, questions: Sequence[ClientRequest], *, seconds: float
    ) -> list[Response | UpstreamUnreachable]:
        """The answers of a server, or why there are none.

        Raises:
            WireError: a question does not fit in a frame.
        """
        try:
            line = self.open_connection(address) or await self.get_connection(address)
        except UpstreamUnreachable as reason:
            return [reason] * len(questions)
        return await ask_together(line, questions, seconds=seconds)

    async def get_connection(self, address: Address) -> BrokerConnection:
        """The connection to a server.

        Raises:
            RequestNotSent: it cannot be reached.
        """
        await self._runs.wait()
        async with self._connecting.setdefault(address, trio.Lock()):
            line = self.open_connection(address)
            if line is None:
                line = self._lines[address] = await self._connect(address, None)
        return line

    def drop(self, address: Address) -> None:
        """Close the connection to a server; the next request to it makes another."""
        line = self._lines.get(address)
        if line is not None:
            line.close()

    async def start_connecting(self, address: Address, on_request: OnRequest | None = None) -> BrokerConnection:
        """A connection that is not shared: whoever asks for it closes it.

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
            line = await self._connect(address, on_request)
        except BaseException:
            self._dialled.give_back()
            raise
        if not self.start(self._give_back, line):
            self._dialled.give_back()
        return line

    async def _give_back(self, line: BrokerConnection) -> None:
        await line.closed.wait()
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
        """Run a task as long as connections are carried, or return False: they are not. If it fails, that is logged."""
        if self._nursery is None:
            return False
        self._nursery.start_soon(_logged, task, *args)
        return True


async def _logged(task: Callable[..., Awaitable[Any]], *args: Any) -> None:  # noqa: ANN401 - what the task takes
    try:
        await task(*args)
    except Exception:  # what one server says must not end the tasks of all
        log.exception("a task that asks other servers")
