"""A program's name and arguments, and the messages that they ask for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self
from urllib.parse import parse_qs

from rocketwire.compat.messages import Outgoing
from rocketwire.remoting import Credentials, Message


class RequestLacks(Exception):
    """A request lacks an argument that its program needs."""


class NotExpressible(Exception):
    """A message is asked for with something that the client cannot send."""


class Wanted(NamedTuple):
    """A message to send, and the number of the queue that it is meant for; -1 for any."""

    message: Message
    queue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One line: `Name?key=value&key=value`, form-encoded; a key may come several times."""

    name: str
    values: Mapping[str, Sequence[str]]

    @classmethod
    def parse(cls, line: str) -> Self:
        """The request of a line."""
        name, _, query = line.strip().partition("?")
        return cls(name=name, values=parse_qs(query, keep_blank_values=True))

    def all(self, key: str) -> Sequence[str]:
        """All values of a key."""
        return self.values.get(key, ())

    def text(self, key: str, otherwise: str | None = None) -> str:
        """The value of a key. Raises RequestLacks."""
        found = self.values.get(key) or ([otherwise] if otherwise is not None else [])
        if not found:
            raise RequestLacks(key)
        return found[0]

    def number(self, key: str, otherwise: int | None = None) -> int:
        """The value of a key as a number. Raises RequestLacks."""
        return int(self.text(key, None if otherwise is None else str(otherwise)))

    @property
    def credentials(self) -> Credentials | None:
        """The account, where the endpoint has accounts."""
        if not self.all("accessKey"):
            return None
        return Credentials(access_key=self.text("accessKey"), secret_key=self.text("secretKey"))

    def messages(self) -> list[Wanted]:
        """The messages that it asks for."""
        now = time.time_ns() // 1_000_000
        return [
            _wanted(self.text("topic"), parse_qs(query, keep_blank_values=True), now) for query in self.all("message")
        ]


def _wanted(topic: str, fields: Mapping[str, Sequence[str]], now: int) -> Wanted:
    named = {key: values[0] for key, values in fields.items()}
    if unknown := named.keys() & {"flag", "wait"}:
        raise NotExpressible(*unknown)
    size = int(named["size"]) if "size" in named else None
    body = Outgoing(body=named.get("body", named.get("seed", "")), repeat=int(named.get("repeat", "1")), size=size)
    properties = {key[2:]: value for key, value in named.items() if key.startswith("p.")}
    due = named.get("s.TIMER_DELIVER_MS")
    message = Message(
        topic,
        body.content,
        tags=named.get("tags"),
        keys=named["keys"].split(" ") if "keys" in named else (),
        properties=properties,
        delay_level=int(named.get("delay", "0")),
        deliver_at_ms=None if due is None else now + int(due) if due.startswith("+") else int(due),
    )
    return Wanted(message, int(named.get("queue", "-1")))
