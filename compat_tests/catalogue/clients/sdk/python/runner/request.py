"""A program's name and arguments, the messages that they ask for, and what they say of the endpoint."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

from rocketmq import ClientConfiguration, Credentials, FilterExpression, Message
from rocketmq.grpc_protocol import FilterType


class RequestLacks(Exception):
    """A request lacks an argument that its program needs."""


class Request(NamedTuple):
    """One line: `Name?key=value&key=value`, form-encoded; a key may come several times."""

    name: str
    values: Mapping[str, Sequence[str]]

    @classmethod
    def parse(cls, line: str) -> Request:
        """The request of a line."""
        name, _, query = line.strip().partition("?")
        return cls(name, parse_qs(query, keep_blank_values=True))

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

    def configuration(self) -> ClientConfiguration:
        """Where the endpoint is, and the account, where it has accounts."""
        account = Credentials(self.text("accessKey", ""), self.text("secretKey", ""))
        return ClientConfiguration(self.text("endpoints"), account, request_timeout=self.number("timeout", 10))

    def subscriptions(self) -> dict[str, FilterExpression]:
        """The topics of a consumer, all with the one expression: tags, or `sql`."""
        expression = FilterExpression(self.text("expression", "*"))
        if self.all("sql"):
            expression = FilterExpression(self.text("sql"), FilterType.SQL)
        return dict.fromkeys(self.all("topic"), expression)

    def messages(self) -> list[Message]:
        """The messages that it asks for."""
        now = time.time_ns() // 1_000_000
        return [
            _message(self.text("topic"), parse_qs(query, keep_blank_values=True), now) for query in self.all("message")
        ]


def _message(topic: str, fields: Mapping[str, Sequence[str]], now: int) -> Message:
    named = {key: values[0] for key, values in fields.items()}
    message = Message()
    message.topic = topic
    message.body = _body(named)
    if "tags" in named:
        message.tag = named["tags"]
    for key in named.get("keys", "").split():
        message.keys = key  # adds one
    if "group" in named:
        message.message_group = named["group"]
    if "due" in named:
        due = named["due"]
        at = now + int(due) if due.startswith("+") else int(due)
        message.delivery_timestamp = -(-at // 1000)  # s
    for key, value in named.items():
        if key.startswith("p."):
            message.add_property(key[2:], value)
    return message


def _body(named: Mapping[str, str]) -> bytes:
    """Text that may be repeated, or noise that does not compress."""
    if "size" not in named:
        return named["body"].encode() * int(named.get("repeat", "1"))
    size = int(named["size"])
    parts = (hashlib.sha256(f"{named['seed']}:{i}".encode()).digest() for i in range(-(-size // 32)))
    return b"".join(parts)[:size]
