"""Performs the steps of operations with streams and tasks of anyio: on asyncio or trio."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import TaskGroup

from rocketwire.remoting.aio.channel import AsyncChannel, connect
from rocketwire.remoting.clock import system_clock
from rocketwire.remoting.core.client import NOT_SUPPORTED, ClientSettings
from rocketwire.remoting.core.session import ClientRequest, RequestReceived, Response
from rocketwire.remoting.core.steps import (
    CallHandler,
    Operation,
    PendingResponse,
    RemoteServer,
    Responder,
    Runtime,
    SendAndWait,
    SendOneway,
    SendRequest,
    Sleep,
    Step,
    WaitForSignal,
)
from rocketwire.remoting.errors import ClientClosed, NotReached, RemotingError
from rocketwire.remoting.messages import Later, ReceivedMessage
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)
T = TypeVar("T")
Handler = Callable[[ReceivedMessage], Awaitable[Later | None]]
_CLOSE_SECONDS: Final = 10.0


class _Signal:
    """A signal for one task that waits. It is made outside the event loop, too."""

    def __init__(self) -> None:
        self._is_set = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        self._is_set = True
        if self._event is not None:
            self._event.set()

    async def wait(self, seconds: float | None) -> None:
        self._event = anyio.Event()
        if self._is_set:
            self._event.set()
        try:
            with anyio.move_on_after(seconds):
                await self._event.wait()
        finally:
            self._event = None
        self._is_set = False


class AsyncRunner:
    """The connections and tasks of one client.

    Args:
        settings: The client's.
        close_seconds: Seconds that the last operation may take, when the task is cancelled, too.

    Attributes:
        around: What the client's core gets.
        handler: The application's, for consumers.
        responder: Answers requests of brokers.
    """

    def __init__(self, settings: ClientSettings, *, close_seconds: float = _CLOSE_SECONDS) -> None:
        self._settings = settings
        self._close_seconds = close_seconds
        self._tasks: TaskGroup | None = None
        self._channels: dict[Address, AsyncChannel] = {}
        self._connecting: dict[Address, anyio.Lock] = {}
        self._receiving: set[anyio.CancelScope] = set()
        self._own_host = "127.0.0.1"
        self.handler: Handler | None = None
        self.responder: Responder | None = None
        self.around = Runtime(
            new_signal=_Signal,
            monotonic=anyio.current_time,
            wall=system_clock,
            entropy=os.urandom,
            own_host=lambda: self._own_host,
            process_id=os.getpid(),
            start=self.start,
        )

    async def open(self) -> None:
        """Begin: the calling task is the one that closes it."""
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ClientClosed: the client is closed, or not opened.
        """
        if self._tasks is None:
            operation.close()
            raise ClientClosed
        result: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    step = operation.send(result) if error is None else operation.throw(error)
                except StopIteration as done:
                    value: T = done.value
                    return value
                result = error = None
                try:
                    result = await self._perform(step)
                except RemotingError as failure:
                    error = failure
        finally:
            operation.close()

    def start(self, operation: Operation[None]) -> None:
        """Run an operation in a task until it ends, or the client is closed."""
        if self._tasks is None:
            operation.close()
            raise ClientClosed
        self._tasks.start_soon(self._in_background, operation)

    async def close(self, last_steps: Operation[None]) -> None:
        """Run the last operation, then end all tasks and connections. Again: nothing."""
        if self._tasks is None:
            last_steps.close()
            return
        try:
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + self._close_seconds):
                await self.run(last_steps)
        finally:
            tasks, self._tasks = self._tasks, None
            tasks.cancel_scope.cancel()
            for scope in list(self._receiving):
                scope.cancel()
            await tasks.__aexit__(None, None, None)

    async def _in_background(self, operation: Operation[None]) -> None:
        try:
            await self.run(operation)
        except Exception:
            log.exception("an operation of the client ended by an error")

    async def _perform(self, step: Step | None) -> Any:  # noqa: ANN401 - each step has its own result
        match step:
            case SendAndWait(peer, request, seconds):
                return await self._send_request(peer, request, seconds)
            case SendOneway(peer, request):
                await (await self._channel(peer)).send(request, None)
            case SendRequest(peer, request, signal):
                pending = PendingResponse(signal)
                if self._tasks is None:
                    raise ClientClosed
                self._tasks.start_soon(self._post, peer, request, pending)
                return pending
            case CallHandler(message):
                return await self._handled(message)
            case Sleep(seconds):
                await anyio.sleep(seconds)
            case WaitForSignal(_Signal() as signal, seconds):
                await signal.wait(seconds)
        return None

    async def _send_request(self, peer: RemoteServer, request: ClientRequest, seconds: float) -> Response:
        signal = _Signal()
        pending = PendingResponse(signal)
        channel = await self._channel(peer)
        try:
            with anyio.move_on_after(seconds):
                await channel.send(request, pending)
                while not pending.done:
                    await signal.wait(None)
        finally:
            pending.forget()
        if pending.answer is not None:
            return pending.answer
        raise pending.error or NotReached(str(peer), f"no answer within {seconds:g} s")

    async def _post(self, peer: RemoteServer, request: ClientRequest, pending: PendingResponse) -> None:
        try:
            await (await self._channel(peer)).send(request, pending)
        except RemotingError as error:
            pending.fulfil(error)

    async def _handled(self, message: ReceivedMessage) -> Later | Exception | None:
        assert self.handler is not None  # noqa: S101 - consumers that handle have one
        try:
            return await self.handler(message)
        except Exception as error:  # noqa: BLE001 - whatever it is, the message is tried again
            return error

    async def _channel(self, peer: RemoteServer) -> AsyncChannel:
        """The connection to a peer, made if there is none."""
        channel = self._channels.get(peer.address)
        if channel is not None and channel.is_open:
            return channel
        async with self._connecting.setdefault(peer.address, anyio.Lock(fast_acquire=True)):
            channel = self._channels.get(peer.address)
            if channel is None or not channel.is_open:
                if self._tasks is None:
                    raise ClientClosed
                channel = await connect(peer, self._settings, self._on_request)
                self._channels[peer.address] = channel
                self._own_host = channel.own_host
                self._tasks.start_soon(self._receive, channel)
            return channel

    async def _receive(self, channel: AsyncChannel) -> None:
        """Receive until the client is closed: also when its task is cancelled, for the last operation needs answers."""
        with anyio.CancelScope(shield=True) as scope:
            self._receiving.add(scope)
            try:
                await channel.receive()
            finally:
                self._receiving.discard(scope)

    def _on_request(self, channel: AsyncChannel, request: RequestReceived) -> None:
        if self._tasks is not None:
            self._tasks.start_soon(self._respond, channel, request)

    async def _respond(self, channel: AsyncChannel, request: RequestReceived) -> None:
        try:
            reply = None if self.responder is None else await self.run(self.responder(request))
            if not request.oneway:
                await channel.reply(request, reply or NOT_SUPPORTED)
        except RemotingError as error:
            log.info("request %d of the broker: %s", request.code, error)
        except Exception:
            log.exception("request %d of the broker", request.code)
