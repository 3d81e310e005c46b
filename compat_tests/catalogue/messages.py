"""The messages of a test, and comparing received messages with sent ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from rocketwire.wire.facts import properties as names

Event = Mapping[str, Any]

# Properties that clients and brokers add to a message of a user.
SYSTEM_PROPERTIES: Final = frozenset(
    {
        names.UNIQ_KEY,
        names.WAIT,
        names.TAGS,
        names.KEYS,
        names.CLUSTER,
        names.MIN_OFFSET,
        names.MAX_OFFSET,
        names.CONSUME_START_TIME,
        names.FIRST_POP_TIME,
        names.POP_CK,
        names.MSG_REGION,
        names.TRACE_ON,
        # Spring makes properties of the headers that it gives each message.
        "id",
        "timestamp",
        "contentType",
        # OpenMessaging's client makes one of the topic.
        "DESTINATION",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to send: `body` repeated `repeat` times, or `size` bytes of noise that doesn't compress.

    Attributes:
        delay: The delay level, of 4.x.
        group: The message group, of 5.x.
        due: When it is to be delivered, of 5.x: ms since 1970, or "+N", the client's time then, plus N ms.
        system: Properties that clients do not take as a user's; values may be "+N", too.
    """

    body: str = ""
    repeat: int = 1
    size: int | None = None
    tags: str | None = None
    keys: str | None = None
    flag: int = 0
    wait: bool | None = None
    queue: int | None = None
    delay: int | None = None
    group: str | None = None
    due: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body's bytes."""
        if self.size is None:
            return self.body.encode() * self.repeat
        parts = (hashlib.sha256(f"{self.body}:{i}".encode()).digest() for i in range(-(-self.size // 32)))
        return b"".join(parts)[: self.size]

    def query(self) -> str:
        """The message as a scenario's `message` argument."""
        named = {"tags": self.tags, "keys": self.keys, "queue": self.queue, "flag": self.flag or None}
        named |= {"delay": self.delay, "group": self.group, "due": self.due}
        fields = {key: str(value) for key, value in named.items() if value is not None}
        if self.wait is not None:
            fields["wait"] = str(self.wait).lower()
        fields |= {"body": self.body, "repeat": str(self.repeat)} if self.size is None else {}
        fields |= {"seed": self.body, "size": str(self.size)} if self.size is not None else {}
        fields |= {f"p.{name}": value for name, value in self.properties.items()}
        fields |= {f"s.{name}": value for name, value in self.system.items()}
        return urlencode(fields)


def digest(event: Event) -> tuple[int, str]:
    """The fingerprint of a message's body: its length and SHA-256."""
    return event["length"], event["sha256"]


def body_digest(body: bytes) -> tuple[int, str]:
    """The fingerprint of bytes."""
    return len(body), hashlib.sha256(body).hexdigest()


def user_properties(event: Event) -> dict[str, str]:
    """The properties of a received message that its sender set."""
    return {name: value for name, value in event["properties"].items() if name not in SYSTEM_PROPERTIES}


def assert_same(event: Event, sent: Outgoing) -> None:
    """Assert that the received message is the one sent: body, tags, keys, flag (if the client has it), properties."""
    expected = (body_digest(sent.content), sent.tags, sent.keys, sent.flag, dict(sent.properties))
    got = (digest(event), event["tags"], event["keys"], event.get("flag", sent.flag), user_properties(event))
    assert got == expected, f"received {got}, sent {expected}"


def assert_each_once(events: Iterable[Event], sent: Iterable[Outgoing]) -> None:
    """Every message sent was received exactly once, whole. Bodies must differ from each other."""
    by_body = {body_digest(message.content): message for message in sent}
    events = list(events)
    got, expected = sorted(map(digest, events)), sorted(by_body)
    missing = [by_body[body].body for body in set(expected) - set(got)]
    assert got == expected, f"{len(got)} received of {len(expected)} sent; not received: {missing}"
    for event in events:
        assert_same(event, by_body[digest(event)])


def by_queue(events: Iterable[Event]) -> dict[int, list[Event]]:
    """The events in the order they came, by queue id."""
    queues: dict[int, list[Event]] = {}
    for event in events:
        queues.setdefault(event["queueId"], []).append(event)
    return queues
