"""The endpoint for asyncio and trio: the same names and arguments as in `rocketwire.testing.blocking`, with `await`."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import anyio
from anyio import to_thread

from rocketwire.remoting.aio.clients import awaits
from rocketwire.remoting.aio.runner import AsyncRunner
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.testing import control
from rocketwire.testing.control import ControlCall, Rules
from rocketwire.testing.core.user import OWN_GROUP, EndpointUser
from rocketwire.testing.options import EndpointSettings
from rocketwire.testing.place import EndpointPlace
from rocketwire.testing.process import ServerProcess

P = ParamSpec("P")
T = TypeVar("T")


class Server(Protocol):
    """A server, in a process or in this one."""

    @property
    def pid(self) -> int | None:
        """The number of its process."""
        ...

    async def start(self) -> None:
        """Start it."""
        ...

    async def stop(self) -> None:
        """Stop it cleanly."""
        ...

    async def kill(self) -> None:
        """Kill it."""
        ...


class _InThreads:
    """A server process, whose starts and stops other tasks need not wait for."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self) -> None:
        await to_thread.run_sync(self._process.start)

    async def stop(self) -> None:
        await to_thread.run_sync(self._process.stop)

    async def kill(self) -> None:
        await to_thread.run_sync(self._process.kill)


def _called(request: Callable[P, ControlCall[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that makes a request to `_address` and awaits its result."""

    @wraps(request)
    async def method(self: Any, /, *args: P.args, **named: P.kwargs) -> T:  # noqa: ANN401 - of either class
        return await to_thread.run_sync(request(*args, **named).run, self._address)

    return method


class AsyncFaults:
    """The fault rules of an endpoint. Their grammar is that of `rocketwire serve --fault`."""

    def __init__(self, address: str) -> None:
        self._address = address

    add = _called(control.add_faults)
    list = _called(control.list_faults)
    remove = _called(control.remove_fault)
    clear = _called(control.clear_faults)

    @contextlib.asynccontextmanager
    async def during(self, *rules: str) -> AsyncIterator[Rules]:
        """Have rules in force within a block.

        Raises:
            ControlRefused: one is wrong.
        """
        added = await self.add(*rules)
        try:
            yield added
        finally:
            with anyio.CancelScope(shield=True):
                left = {each.id for each in await self.list()}
                for each in added:
                    if each.id in left:
                        await self.remove(each)


class AsyncClock:
    """The clock of an endpoint. Those of its clients do not move with it."""

    def __init__(self, address: str) -> None:
        self._address = address

    now = _called(control.now)
    advance = _called(control.advance)


class AsyncEndpoint:
    """A name server and a broker, and a client of them, for asyncio and trio: see `rocketwire.testing.endpoint`.

    Attributes:
        namesrv: The name server's address, `HOST:PORT`, for clients.
        broker: The broker's address.
        http: The address of faults, clock, metrics and health.
        grpc: The address for clients of 5.x.
        store: The folder of its store.
        faults: Its fault rules.
        clock: Its clock.
    """

    def __init__(self, place: EndpointPlace, server: Server, runner: AsyncRunner, user: EndpointUser) -> None:
        self.namesrv, self.broker, self.http, self.store = place.namesrv, place.broker, place.http, place.store
        self.grpc = place.grpc
        self.faults, self.clock = AsyncFaults(place.http), AsyncClock(place.http)
        self._log = place.log
        self._server = server
        self._runner = runner
        self._core = user

    @property
    def pid(self) -> int | None:
        """The number of its process; None while it is killed, or if it has no separate one."""
        return self._server.pid

    @property
    def log(self) -> str:
        """What the server has logged so far; nothing of a server within this process, whose log is the test's."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    topic = awaits(EndpointUser.topic)
    group = awaits(EndpointUser.group)
    send = awaits(EndpointUser.send)
    receive = awaits(EndpointUser.receive)
    messages = awaits(EndpointUser.messages)

    async def restart(self) -> None:
        """Stop the server cleanly if it runs, and start it again: same addresses, store and clock.

        Raises:
            NotStarted: it does not start again.
        """
        await self._server.stop()
        await self._server.start()

    async def kill(self) -> None:
        """Kill the server, as a crash would; `restart` starts it again.

        Raises:
            NotInProcess: it has no separate process.
        """
        await self._server.kill()


@contextlib.asynccontextmanager
async def opened(
    options: EndpointSettings, tls: ssl.SSLContext | None, *, in_process: bool
) -> AsyncIterator[AsyncEndpoint]:
    """A fresh endpoint, within the block.

    Raises:
        NotStarted: it does not start.
        NotInProcess: the server is to run in tasks of asyncio.
    """
    async with contextlib.AsyncExitStack() as stack:
        place = stack.enter_context(contextlib.closing(await to_thread.run_sync(EndpointPlace, options)))
        server = await stack.enter_async_context(_started(place, options, in_process=in_process))
        settings = ClientSettings(group=OWN_GROUP, name_servers=place.namesrv, credentials=place.credentials, tls=tls)
        runner = AsyncRunner(settings)
        await runner.open()
        user = EndpointUser(settings, place.broker, runner.around)
        try:
            made = AsyncEndpoint(place, server, runner, user)
            for name, queues in options.topics.items():
                await made.topic(name, queues)
            yield made
        finally:
            await runner.close(user.close())


@contextlib.asynccontextmanager
async def _started(place: EndpointPlace, options: EndpointSettings, *, in_process: bool) -> AsyncIterator[Server]:
    """The server, started, and stopped at the end."""
    async with anyio.create_task_group() as tasks:
        server: Server
        if in_process:
            from rocketwire.testing.in_process import InProcess

            server = InProcess(place.arguments, tasks)
        else:
            server = _InThreads(ServerProcess(place.arguments, place.log, start_seconds=options.start_seconds))
        try:
            await server.start()
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await (server.stop() if in_process or place.stays else server.kill())
