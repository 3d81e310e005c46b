"""The endpoint's own client: what a test asks of it, as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from typing import Final

from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.core.steps import Operation, RemoteServer, Runtime
from rocketwire.remoting.messages import ReceivedMessage, SendResult
from rocketwire.testing.core.administering import create_group, create_topic
from rocketwire.testing.core.inbox import GroupInbox
from rocketwire.testing.core.outgoing import message
from rocketwire.testing.core.reading import stored
from rocketwire.wire.addresses import parse_address

OWN_GROUP: Final = "rocketwire-testing"
"""The group of producers and consumers that the endpoint's own client is in, where no other is named."""
_LARGEST: Final = 4 << 20


class EndpointUser:
    """One client of an endpoint.

    Args:
        settings: Its addresses and account.
        broker: `HOST:PORT`.
        around: The front end's.
    """

    def __init__(self, settings: ClientSettings, broker: str, around: Runtime) -> None:
        self._settings = settings
        self._around = around
        self._client = ClientCore(settings, around)
        self._broker = RemoteServer("broker", parse_address(broker))
        self._sending = ProducerCore(self._client, retries=2, most=_LARGEST)
        self._inboxes: dict[tuple[str, str], GroupInbox] = {}
        self._numbers = count(1)
        self._unique = around.entropy(3).hex()

    def name(self, kind: str) -> str:
        """A name that nothing else has at this endpoint."""
        return f"{kind}-{self._unique}-{next(self._numbers)}"

    def topic(self, name: str | None, *, queues: int, order: bool, message_type: str | None) -> Operation[str]:
        """Create a topic, and return its name."""
        name = name or self.name("topic")
        yield from create_topic(self._client, self._broker, name, queues=queues, order=order, message_type=message_type)
        return name

    def group(self, name: str | None, *, retries: int | None) -> Operation[str]:
        """A group's name; the group is created only if something is to be set, else by its first member."""
        name = name or self.name("group")
        if retries is not None:
            yield from create_group(self._client, self._broker, name, retries=retries)
        return name

    def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        tags: str | None,
        keys: str | Sequence[str],
        properties: Mapping[str, str] | None,
        delay: timedelta | float | None,
        delay_level: int,
        order_key: str | None,
    ) -> Operation[SendResult]:
        """Send a message."""
        made = message(
            topic,
            body,
            tags=tags,
            keys=keys,
            properties=properties,
            delay=delay,
            delay_level=delay_level,
            order_key=order_key,
        )
        return (yield from self._sending.send(made))

    def receive(self, topic: str, *, seconds: float, count: int, group: str | None) -> Operation[list[ReceivedMessage]]:
        """The next messages of a topic for a group."""
        group = group or OWN_GROUP
        inbox = self._inboxes.get((topic, group))
        if inbox is None:
            settings = ClientSettings(
                group=group,
                name_servers=self._settings.name_servers,
                credentials=self._settings.credentials,
                tls=self._settings.tls,
            )
            inbox = self._inboxes[topic, group] = GroupInbox(ClientCore(settings, self._around), topic)
        return (yield from inbox.receive(count, seconds))

    def messages(self, topic: str) -> Operation[list[ReceivedMessage]]:
        """Everything that a topic has stored."""
        return (yield from stored(self._client, topic))

    def close(self) -> Operation[None]:
        """Leave: it is in no group that has to know."""
        yield from ()
