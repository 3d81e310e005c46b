"""The endpoint whose methods block. Threads may share it."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from rocketwire.remoting.blocking.clients import blocks
from rocketwire.remoting.blocking.runner import BlockingRunner
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.testing import control
from rocketwire.testing.control import ControlCall, Rules
from rocketwire.testing.core.user import OWN_GROUP, EndpointUser
from rocketwire.testing.options import EndpointSettings
from rocketwire.testing.place import EndpointPlace
from rocketwire.testing.process import ServerProcess

P = ParamSpec("P")
T = TypeVar("T")


def _called(request: Callable[P, ControlCall[T]]) -> Callable[Concatenate[Any, P], T]:
    """The method that makes a request to `_address` and waits for its result."""

    @wraps(request)
    def method(self: Any, /, *args: P.args, **named: P.kwargs) -> T:  # noqa: ANN401 - of either class
        return request(*args, **named).run(self._address)

    return method


class Faults:
    """The fault rules of an endpoint. Their grammar is that of `rocketwire serve --fault`."""

    def __init__(self, address: str) -> None:
        self._address = address

    add = _called(control.add_faults)
    list = _called(control.list_faults)
    remove = _called(control.remove_fault)
    clear = _called(control.clear_faults)

    @contextlib.contextmanager
    def during(self, *rules: str) -> Iterator[Rules]:
        """Have rules in force within a block.

        Raises:
            ControlRefused: one is wrong.
        """
        added = self.add(*rules)
        try:
            yield added
        finally:
            left = {each.id for each in self.list()}
            for each in added:
                if each.id in left:
                    self.remove(each)


class Clock:
    """The clock of an endpoint. Those of its clients do not move with it."""

    def __init__(self, address: str) -> None:
        self._address = address

    now = _called(control.now)
    advance = _called(control.advance)


class Endpoint:
    """A name server and a broker in a separate process, and a client of them: see `rocketwire.testing.endpoint`.

    Attributes:
        namesrv: The name server's address, `HOST:PORT`, for clients.
        broker: The broker's address.
        http: The address of faults, clock, metrics and health.
        grpc: The address for clients of 5.x.
        store: The folder of its store.
        faults: Its fault rules.
        clock: Its clock.
    """

    def __init__(self, options: EndpointSettings, tls: ssl.SSLContext | None) -> None:
        """Start it.

        Raises:
            NotStarted: it does not start.
        """
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(contextlib.closing(EndpointPlace(options)))
            self._server = ServerProcess(place.arguments, place.log, start_seconds=options.start_seconds)
            stack.callback(self._server.stop if place.stays else self._server.kill)
            self._server.start()
            self.namesrv, self.broker, self.http, self.store = place.namesrv, place.broker, place.http, place.store
            self.grpc = place.grpc
            self.faults, self.clock = Faults(place.http), Clock(place.http)
            self._log = place.log
            settings = ClientSettings(
                group=OWN_GROUP, name_servers=self.namesrv, credentials=place.credentials, tls=tls
            )
            self._runner = BlockingRunner(settings)
            self._core = EndpointUser(settings, self.broker, self._runner.around)
            stack.callback(lambda: self._runner.close(self._core.close()))
            for name, queues in options.topics.items():
                self.topic(name, queues)
            self._stack = stack.pop_all()

    @property
    def pid(self) -> int | None:
        """The number of its process; None while it is killed."""
        return self._server.pid

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Stop it and remove what it stored. Again: nothing."""
        self._stack.close()

    topic = blocks(EndpointUser.topic)
    group = blocks(EndpointUser.group)
    send = blocks(EndpointUser.send)
    receive = blocks(EndpointUser.receive)
    messages = blocks(EndpointUser.messages)

    def restart(self) -> None:
        """Stop the server cleanly if it runs, and start it again: same addresses, store and clock.

        Fault rules that were added are dropped; those that were given at the start are in force again.

        Raises:
            NotStarted: it does not start again.
        """
        self._server.stop()
        self._server.start()

    def kill(self) -> None:
        """Kill the server, as a crash would; `restart` starts it again."""
        self._server.kill()
