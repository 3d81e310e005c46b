"""The endpoint for asyncio and trio: the same names and arguments as in `rocketwire.testing.blocking`, with `await`."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Protocol

import anyio
from anyio import to_thread

from rocketwire.remoting.aio.runner import AsyncRunner
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.messages import ReceivedMessage, SendResult
from rocketwire.testing import control
from rocketwire.testing.control import Fault, Rules
from rocketwire.testing.core.user import OWN_GROUP, EndpointUser
from rocketwire.testing.options import EndpointSettings
from rocketwire.testing.place import EndpointPlace
from rocketwire.testing.process import ServerProcess


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


class AsyncFaults:
    """The fault rules of an endpoint. Their grammar is that of `rocketwire serve --fault`."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def add(self, *rules: str) -> Rules:
        """Put rules in force, or none if one is wrong.

        Raises:
            ControlRefused: one is wrong.
        """
        return await to_thread.run_sync(control.add_faults(rules).run, self._address)

    async def list(self) -> Rules:
        """The rules in force, with how many requests each has matched."""
        return await to_thread.run_sync(control.list_faults().run, self._address)

    async def remove(self, fault: Fault | int) -> None:
        """Remove a rule.

        Raises:
            ControlRefused: it is not in force.
        """
        await to_thread.run_sync(control.remove_fault(fault).run, self._address)

    async def clear(self) -> None:
        """Remove all rules."""
        await to_thread.run_sync(control.clear_faults().run, self._address)

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

    async def now(self) -> int:
        """The endpoint's time, in ms since 1970."""
        return await to_thread.run_sync(control.now().run, self._address)

    async def advance(
        self,
        by: timedelta | None = None,
        /,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> int:
        """Set the clock ahead: what is due then is delivered at once. Returns the new time, in ms since 1970.

        Raises:
            ControlRefused: it would go back, or more than ten years ahead.
        """
        step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return await to_thread.run_sync(control.advance(step + (by or timedelta())).run, self._address)


class AsyncEndpoint:
    """A name server and a broker, and a client of them, for asyncio and trio: see `rocketwire.testing.endpoint`.

    Attributes:
        namesrv: The name server's address, `HOST:PORT`: what clients are told.
        broker: The broker's address.
        http: The address of faults, clock, metrics and health.
        grpc: The address that clients of 5.x are told.
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
        self._user = user

    @property
    def pid(self) -> int | None:
        """The number of its process; None while it is killed, or if it has none of its own."""
        return self._server.pid

    @property
    def log(self) -> str:
        """What the server has logged so far; nothing of a server within this process, whose log is the test's."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    async def topic(
        self, name: str | None = None, queues: int = 4, *, order: bool = False, message_type: str | None = None
    ) -> str:
        """Create a topic, with a name of its own if none is given; returns the name: see `Endpoint.topic`.

        Raises:
            Refused: the broker does not create it; its remark says why.
        """
        return await self._runner.run(self._user.topic(name, queues=queues, order=order, message_type=message_type))

    async def group(self, name: str | None = None, *, retries: int | None = None) -> str:
        """A name that no group has yet. With `retries` the group is created: so often messages are tried again.

        Raises:
            Refused: the broker does not create it.
        """
        return await self._runner.run(self._user.group(name, retries=retries))

    async def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        tags: str | None = None,
        keys: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        delay: timedelta | float | None = None,
        delay_level: int = 0,
        order_key: str | None = None,
    ) -> SendResult:
        """Send a message and wait until the broker has it: see `Endpoint.send`.

        Raises:
            MessageInvalid: it cannot be sent as it is.
            NoSuchTopic, NotReached, Refused: the broker did not take it.
        """
        return await self._runner.run(
            self._user.send(
                topic,
                body,
                tags=tags,
                keys=keys,
                properties=properties,
                delay=delay,
                delay_level=delay_level,
                order_key=order_key,
            )
        )

    async def receive(
        self,
        topic: str,
        *,
        timeout: float = 10.0,  # noqa: ASYNC109 - fewer messages are no error
        count: int = 1,
        group: str | None = None,
    ) -> list[ReceivedMessage]:
        """Take the next messages of a topic, in the order in which they were stored: see `Endpoint.receive`.

        Raises:
            NoSuchTopic: the topic did not come to be in time.
            NotReached, Refused: the broker does not give them.
        """
        return await self._runner.run(self._user.receive(topic, seconds=timeout, count=count, group=group))

    async def messages(self, topic: str) -> list[ReceivedMessage]:
        """Everything that a topic has stored, in that order; no group's offsets change.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return await self._runner.run(self._user.messages(topic))

    async def restart(self) -> None:
        """Stop the server cleanly, or what is left of it, and start it again: same addresses, store and clock.

        Raises:
            NotStarted: it does not start again.
        """
        await self._server.stop()
        await self._server.start()

    async def kill(self) -> None:
        """Kill the server, as a crash would; `restart` starts it again.

        Raises:
            NotInProcess: it has no process of its own.
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
