"""A program's name and arguments, and the messages that they describe."""

from __future__ import annotations

from typing import NamedTuple

from rocketwire.compat.clients.python.shared import Arguments, body_of, due_of
from rocketwire.remoting import Credentials, Message


class NotExpressible(Exception):
    """The request wants a message that the client cannot send."""


class Wanted(NamedTuple):
    """A message to send, and the number of the queue that it is meant for; -1 for any."""

    message: Message
    queue: int


class Request(Arguments):
    """A program's name and arguments."""

    __slots__ = ()

    @property
    def credentials(self) -> Credentials | None:
        """The account, where the endpoint has accounts."""
        if not self.all("accessKey"):
            return None
        return Credentials(access_key=self.text("accessKey"), secret_key=self.text("secretKey"))

    def messages(self) -> list[Wanted]:
        """The messages that it describes."""
        return [_wanted(self.text("topic"), fields) for fields in self.message_fields()]


def _wanted(topic: str, fields: dict[str, str]) -> Wanted:
    if unknown := fields.keys() & {"flag", "wait"}:
        raise NotExpressible(*unknown)
    due = fields.get("s.TIMER_DELIVER_MS")
    message = Message(
        topic,
        body_of(fields),
        tags=fields.get("tags"),
        keys=fields["keys"].split(" ") if "keys" in fields else (),
        properties={key[2:]: value for key, value in fields.items() if key.startswith("p.")},
        delay_level=int(fields.get("delay", "0")),
        deliver_at_ms=None if due is None else due_of(due),
    )
    return Wanted(message, int(fields.get("queue", "-1")))
