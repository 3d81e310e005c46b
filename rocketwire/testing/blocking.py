"""The endpoint whose methods block. Threads may share it."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from rocketwire.remoting.blocking.runner import BlockingRunner
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.messages import ReceivedMessage, SendResult
from rocketwire.testing import control
from rocketwire.testing.control import Fault, Rules
from rocketwire.testing.core.user import OWN_GROUP, EndpointUser
from rocketwire.testing.options import EndpointSettings
from rocketwire.testing.place import EndpointPlace
from rocketwire.testing.process import ServerProcess


class Faults:
    """The fault rules of an endpoint. Their grammar is that of `rocketwire serve --fault`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def add(self, *rules: str) -> Rules:
        """Put rules in force, or none if one is wrong.

        Raises:
            ControlRefused: one is wrong.
        """
        return control.add_faults(rules).run(self._address)

    def list(self) -> Rules:
        """The rules in force, with how many requests each has matched."""
        return control.list_faults().run(self._address)

    def remove(self, fault: Fault | int) -> None:
        """Remove a rule.

        Raises:
            ControlRefused: it is not in force.
        """
        control.remove_fault(fault).run(self._address)

    def clear(self) -> None:
        """Remove all rules."""
        control.clear_faults().run(self._address)

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

    def now(self) -> int:
        """The endpoint's time, in ms since 1970."""
        return control.now().run(self._address)

    def advance(
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
        return control.advance(step + (by or timedelta())).run(self._address)


class Endpoint:
    """A name server and a broker in a process of their own, and a client of them: see `rocketwire.testing.endpoint`.

    Attributes:
        namesrv: The name server's address, `HOST:PORT`: what clients are told.
        broker: The broker's address.
        http: The address of faults, clock, metrics and health.
        grpc: The address that clients of 5.x are told.
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
            self._user = EndpointUser(settings, self.broker, self._runner.around)
            stack.callback(lambda: self._runner.close(self._user.close()))
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

    def topic(
        self, name: str | None = None, queues: int = 4, *, order: bool = False, message_type: str | None = None
    ) -> str:
        """Create a topic, with a name of its own if none is given; returns the name.

        Args:
            name: Its name.
            queues: The number of its queues.
            order: Whether it is marked as one for ordered messages.
            message_type: Which messages it takes, as in 5.x: NORMAL, FIFO, DELAY, TRANSACTION.

        Raises:
            Refused: the broker does not create it; its remark says why.
        """
        return self._runner.run(self._user.topic(name, queues=queues, order=order, message_type=message_type))

    def group(self, name: str | None = None, *, retries: int | None = None) -> str:
        """A name that no group has yet. With `retries` the group is created: so often messages are tried again.

        Raises:
            Refused: the broker does not create it.
        """
        return self._runner.run(self._user.group(name, retries=retries))

    def send(
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
        """Send a message and wait until the broker has it.

        Args:
            topic: Where to.
            body: At least one byte; a text is written as UTF-8.
            tags: One word.
            keys: Words by which it can be found, or one.
            properties: Texts by name.
            delay: Deliver it so many seconds later, by the endpoint's clock.
            delay_level: Deliver it after the delay of this level; 3 is 10 s.
            order_key: Messages with equal keys go to the same queue.

        Raises:
            MessageInvalid: it cannot be sent as it is.
            NoSuchTopic, NotReached, Refused: the broker did not take it.
        """
        return self._runner.run(
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

    def receive(
        self, topic: str, *, timeout: float = 10.0, count: int = 1, group: str | None = None
    ) -> list[ReceivedMessage]:
        """Take the next messages of a topic, in the order in which they were stored.

        The next call goes on behind them. Without a group the endpoint's own client has one for itself; a group that is
        named goes on where its members are. A topic that does not exist yet is waited for.

        Args:
            topic: The topic.
            timeout: How many seconds to wait for `count` messages; then there are fewer, or none.
            count: The most messages.
            group: The consumer group whose offsets are used and committed.

        Raises:
            NoSuchTopic: the topic did not come to be in time.
            NotReached, Refused: the broker does not give them.
        """
        return self._runner.run(self._user.receive(topic, seconds=timeout, count=count, group=group))

    def messages(self, topic: str) -> list[ReceivedMessage]:
        """Everything that a topic has stored, in that order; no group's offsets change.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return self._runner.run(self._user.messages(topic))

    def restart(self) -> None:
        """Stop the server cleanly, or what is left of it, and start it again: same addresses, store and clock.

        Fault rules that were added are gone; those that were given at the start are in force again.

        Raises:
            NotStarted: it does not start again.
        """
        self._server.stop()
        self._server.start()

    def kill(self) -> None:
        """Kill the server, as a crash would; `restart` starts it again."""
        self._server.kill()
