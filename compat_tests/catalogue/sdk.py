"""The clients of 5.x as scenarios use them.

Their programs, each of which all clients offer but the last ones of a line:

- `Publish`, `PublishInTransaction`, `Recall`: a producer sends messages, in transactions, and recalls timed ones.
- `OpenSimple`, `Receive`, `Ack`, `ChangeInvisible`: a simple consumer, which stays open under a `name`.
- `OpenPush`, `Taken`: a push consumer, which stays open and keeps what its listener gets until `Taken`.
- `Close`: closes a consumer.

clients/sdk/java/sources describes what each takes and prints.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import Client, events
from rocketwire.compat.clients.process import Argument
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.remoting import Message, Producer

SIMPLE: Final = ("OpenSimple", "Receive", "Close")
PUSH: Final = ("OpenPush", "Taken", "Close")
POLLING: Final = 5
"""Seconds that a receive waits for a message: Apache's proxy waits no less."""
SHORTEST: Final = 10
"""Seconds that a received message is invisible, at least: Apache's proxy refuses less."""
LATE: Final = 20.0
"""Seconds that a message may come late on a machine that does much else."""


class NotOpened(Exception):
    """A consumer did not open; the text is what the client printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """An open simple consumer."""

    client: Client
    name: str

    def receive(self, count: int, *, invisible: int = 30, ack: bool = False, most: int = 32) -> list[Event]:
        """Messages, once there are so many; less when the client's patience is over."""
        got = self._run("Receive", count=count, invisible=invisible, ack=int(ack), most=most)
        return events(got, "received")

    def rest(self, seconds: float = 1.0, *, invisible: int = 30) -> list[Event]:
        """What more comes within so many seconds, and one polling."""
        return events(self._run("Receive", count=1000, invisible=invisible, wait=max(1, round(seconds))), "received")

    def ack(self, *received: Event) -> list[Event]:
        """Acknowledge messages; what was refused."""
        return events(self._acked(received), "refused")

    def acked(self, *received: Event) -> set[str]:
        """Acknowledge messages; the ids of those for which that was answered with OK."""
        return {event["msgId"] for event in events(self._acked(received), "acked")}

    def _acked(self, received: Sequence[Event]) -> list[Event]:
        return self._run("Ack", id=[each["msgId"] for each in received])

    def change(self, received: Event, seconds: int) -> list[Event]:
        """Have a message redelivered after so many seconds; what was refused."""
        return events(self._run("ChangeInvisible", id=[received["msgId"]], invisible=seconds), "refused")

    def _run(self, program: str, **arguments: Argument) -> list[Event]:
        return self.client.run(program, {"name": self.name, **arguments})


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """An open push consumer."""

    client: Client
    name: str

    def taken(self, count: int, *, settle: int = 300) -> list[Event]:
        """What its listener got since the last call, once there are so many, and `settle` ms are over."""
        return events(self.client.run("Taken", name=self.name, count=count, settle=settle), "received")


@contextlib.contextmanager
def simple(case: Case, topic: str, group: str, *, polling: int = POLLING, **filtered: str) -> Iterator[Simple]:
    """A simple consumer of a topic; `filtered` is an `expression` of tags or `sql`. Raises NotOpened."""
    name = case.unique("simple")
    with _opened(case, "OpenSimple", name, topic=topic, group=group, polling=polling, **filtered):
        yield Simple(client=case.client, name=name)


@contextlib.contextmanager
def push(case: Case, topic: str, group: str, **filtered: str) -> Iterator[Push]:
    """A push consumer of a topic; `filtered` is an `expression` of tags or `sql`. Raises NotOpened."""
    name = case.unique("push")
    with _opened(case, "OpenPush", name, topic=topic, group=group, **filtered):
        yield Push(client=case.client, name=name)


@contextlib.contextmanager
def _opened(case: Case, program: str, name: str, **arguments: Argument) -> Iterator[None]:
    try:
        got = case.client.run(program, {"name": name, **arguments})
        if not events(got, "opened"):
            raise NotOpened(str(got))
        yield
    finally:
        case.client.run("Close", name=name)


def publish(case: Case, topic: str, messages: Sequence[Outgoing], **more: Argument) -> dict[str, Event]:
    """Send messages with the client under test; what it printed of each, by the body. All must be taken."""
    got = case.client.run("Publish", {"topic": topic, "message": messages, **more})
    assert events(got, "refused") == []
    sent = {event["text"]: event for event in events(got, "sent")}
    assert len(sent) == len(messages)
    return sent


def checked_until(run: Callable[..., list[Event]], messages: Sequence[Outgoing], wanted: Sequence[str]) -> list[Event]:
    """Send messages in transactions, and answer checks until each of `wanted` was checked, as often as it occurs.

    A broker of 5.x may send one back-check more than it has to, while it handles the answer before.

    Args:
        run: Runs the program of transactions with more arguments.
        messages: The messages, their keys the answers in sequence.
        wanted: Bodies of messages.
    """
    checked = events(run(message=messages, checks=len(wanted)), "checked")
    while missing := Counter(wanted) - Counter(event["text"] for event in checked):
        more = events(run(checks=1, last=1), "checked")
        assert more, f"no back-check of {', '.join(missing)}"
        checked += more
    return checked


@contextlib.contextmanager
def sent_after(case: Case, seconds: float, topic: str, body: str, *, order: str = "") -> Iterator[list[float]]:
    """Send a message while the `with` runs, with rocketwire's own client: the list gets the time of its sending.

    `order`: its message group.
    """
    access, at = case.endpoint.access, []

    def send() -> None:
        time.sleep(seconds)
        at.append(time.time() * 1000)
        with Producer("compat_sdk", access.namesrv, credentials=access.credentials, tls=access.tls) as producer:
            producer.send(Message(topic, body.encode(), order_key=order or None))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield at
    finally:
        thread.join()
