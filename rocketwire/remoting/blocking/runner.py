"""Performs the steps of operations with sockets and threads."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from rocketwire.remoting.blocking.channel import BlockingChannel
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
Handler = Callable[[ReceivedMessage], Later | None]
_END_SECONDS: Final = 5.0


class _Stopped(Exception):
    """The runner ends: an operation in the background is over."""


class _Signal:
    """A signal for one thread that waits."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def wait(self, seconds: float | None) -> bool:
        found = self._event.wait(seconds)
        self._event.clear()
        return found


class BlockingRunner:
    """The connections and threads of one client.

    Attributes:
        around: What the client's core gets.
        handler: The application's, for consumers.
        responder: Answers requests of brokers.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._turn = threading.RLock()  # whoever holds it runs an operation up to its next step
        self._channels: dict[Address, BlockingChannel] = {}
        self._connecting: dict[Address, threading.Lock] = {}
        self._signals: weakref.WeakSet[_Signal] = weakref.WeakSet()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._own_host = "127.0.0.1"
        self.handler: Handler | None = None
        self.responder: Responder | None = None
        self.around = Runtime(
            new_signal=self._new_signal,
            monotonic=time.monotonic,
            wall=system_clock,
            entropy=os.urandom,
            own_host=lambda: self._own_host,
            process_id=os.getpid(),
            start=self.start,
        )

    @property
    def is_closed(self) -> bool:
        """Whether it was stopped."""
        return self._stopping.is_set()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """No operation runs meanwhile: for calls that change the state of the core without waiting."""
        with self._turn:
            yield

    def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ClientClosed: the client is closed.
        """
        if self.is_closed:
            operation.close()
            raise ClientClosed
        return self._run(operation, background=False)

    def start(self, operation: Operation[None]) -> None:
        """Run an operation in a thread until it ends, or the runner is stopped."""
        thread = threading.Thread(target=self._in_background, args=(operation,), name="rocketwire", daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self, last_steps: Operation[None]) -> None:
        """End the operations in the background, run the last one, and close all connections. Again: nothing."""
        with self._turn:
            if self.is_closed:
                last_steps.close()
                return
            self._stopping.set()
            signals = list(self._signals)
        for signal in signals:
            signal.set()
        try:
            self._run(last_steps, background=False)
        finally:
            channels = list(self._channels.values())
            for channel in channels:
                channel.close()
            until = time.monotonic() + _END_SECONDS
            for thread in [*self._threads, *(channel.thread for channel in channels)]:
                if thread is not threading.current_thread():
                    thread.join(max(0.0, until - time.monotonic()))

    def _in_background(self, operation: Operation[None]) -> None:
        try:
            self._run(operation, background=True)
        except _Stopped:
            pass
        except Exception:
            log.exception("an operation of the client ended by an error")

    def _run(self, operation: Operation[T], *, background: bool) -> T:
        result: Any = None
        error: Exception | None = None
        try:
            while True:
                with self._turn:
                    try:
                        step = operation.send(result) if error is None else operation.throw(error)
                    except StopIteration as done:
                        value: T = done.value
                        return value
                result = error = None
                try:
                    result = self._perform(step, background=background)
                except RemotingError as failure:
                    error = failure
        finally:
            with self._turn:
                operation.close()

    def _perform(self, step: Step, *, background: bool) -> Any:  # noqa: ANN401 - each step has its own result
        if background and self.is_closed and isinstance(step, Sleep | WaitForSignal):
            raise _Stopped
        match step:
            case SendAndWait(peer, request, seconds):
                return self._ask(peer, request, seconds)
            case SendOneway(peer, request):
                return self._channel(peer).send(request, None)
            case SendRequest(peer, request, signal):
                return self._post(peer, request, PendingResponse(signal))
            case CallHandler(message):
                return self._handled(message)
            case Sleep(seconds):
                self._stopping.wait(seconds)
            case WaitForSignal(_Signal() as signal, seconds):
                signal.wait(seconds)
        if background and self.is_closed:
            raise _Stopped
        return None

    def _ask(self, peer: RemoteServer, request: ClientRequest, seconds: float) -> Response:
        signal = _Signal()
        pending = PendingResponse(signal)
        self._channel(peer).send(request, pending)
        signal.wait(seconds)
        if pending.answer is not None:
            return pending.answer
        pending.forget()
        raise pending.error or NotReached(str(peer), f"no answer within {seconds:g} s")

    def _post(self, peer: RemoteServer, request: ClientRequest, pending: PendingResponse) -> PendingResponse:
        """Send a request; if that needs a connection, in a thread, for connecting may take long."""

        def post() -> None:
            try:
                self._channel(peer).send(request, pending)
            except RemotingError as error:
                pending.fulfil(error)

        channel = self._channels.get(peer.address)
        if channel is not None and channel.is_open:
            post()
        else:
            threading.Thread(target=post, name="rocketwire connect", daemon=True).start()
        return pending

    def _handled(self, message: ReceivedMessage) -> Later | Exception | None:
        assert self.handler is not None  # noqa: S101 - consumers that handle have one
        try:
            return self.handler(message)
        except Exception as error:  # noqa: BLE001 - whatever it is, the message is tried again
            return error

    def _channel(self, peer: RemoteServer) -> BlockingChannel:
        """The connection to a peer, made if there is none."""
        with self._turn:
            connecting = self._connecting.setdefault(peer.address, threading.Lock())
        with connecting:
            channel = self._channels.get(peer.address)
            if channel is None or not channel.is_open:
                channel = BlockingChannel(peer, self._settings, self._asked)
                self._channels[peer.address] = channel
                self._own_host = channel.own_host
            return channel

    def _asked(self, channel: BlockingChannel, asked: RequestReceived) -> None:
        threading.Thread(target=self._respond, args=(channel, asked), name="rocketwire reply", daemon=True).start()

    def _respond(self, channel: BlockingChannel, asked: RequestReceived) -> None:
        try:
            reply = None if self.responder is None else self._run(self.responder(asked), background=True)
            if not asked.oneway:
                channel.reply(asked, reply or NOT_SUPPORTED)
        except _Stopped:
            pass
        except RemotingError as error:
            log.info("request %d of the broker: %s", asked.code, error)
        except Exception:
            log.exception("request %d of the broker", asked.code)

    def _new_signal(self) -> _Signal:
        signal = _Signal()
        self._signals.add(signal)
        return signal
