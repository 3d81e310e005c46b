"""What of a topic is done for a group: it must not be delivered to the group again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, Self

from compat_tests.remoting import Connection, FrameRequest
from rocketwire.compat.messages import Event

_QUERY_OFFSET: Final = 14
_SUCCESS: Final = 0


class Committed:
    """The committed offsets of a group of 4.x clients, and what follows from them about deliveries.

    `look` and `take` are called alternately. What a consumer hands over at a `take` it got since the one before, so
    after the last but one `look`: a message whose offset was committed then is delivered again.

    Args:
        brokers: Their addresses. They stay alive: one that is killed may forget what was committed last.
        topic: The topic.
        group: The group.
        queues: Of the topic, at each broker.

    Attributes:
        went_back: Offsets that became lower, a line each.
        again: Messages that were delivered again, as `BROKER QUEUE OFFSET`.
    """

    def __init__(self, brokers: Sequence[str], *, topic: str, group: str, queues: int) -> None:
        self._brokers = brokers
        self._queries = [
            FrameRequest(_QUERY_OFFSET, {"topic": topic, "consumerGroup": group, "queueId": queue})
            for queue in range(queues)
        ]
        self._stack = ExitStack()
        self._connections: Mapping[str, Connection] = {}
        self._before: Mapping[tuple[str, int], int] = {}
        self._offsets: Mapping[tuple[str, int], int] = {}
        self.went_back: list[str] = []
        self.again: list[str] = []

    def __enter__(self) -> Self:
        """Connect to the brokers."""
        self._connections = {each: self._stack.enter_context(Connection(each)) for each in self._brokers}
        return self

    def __exit__(self, *error: object) -> None:
        """Leave them."""
        self._stack.close()

    @property
    def total(self) -> int:
        """How many messages were done at the last `look`."""
        return sum(self._offsets.values())

    def look(self) -> None:
        """Read all offsets."""
        found = dict(self._offsets)
        for broker, connection in self._connections.items():
            for queue, answer in enumerate(connection.ask_all(self._queries)):
                if answer.code == _SUCCESS:
                    found[broker, queue] = int(answer.fields["offset"])
        for queue_of, offset in self._offsets.items():
            if found[queue_of] < offset:
                self.went_back.append(f"{queue_of}: from {offset} to {found[queue_of]}")
        self._before, self._offsets = self._offsets, found

    def take(self, received: Iterable[Event]) -> None:
        """Enter messages that a consumer has got."""
        for event in received:
            broker, queue, offset = event["storeHost"].rpartition("/")[2], event["queueId"], event["queueOffset"]
            if offset < self._before.get((broker, queue), 0):
                self.again.append(f"{broker} {queue} {offset}")


def acknowledged_twice(acknowledged: Mapping[str, int], stored: Iterable[Event]) -> list[str]:
    """The ids of messages that were delivered to clients of 5.x again after the acknowledgement was answered with OK.

    Whatever comes is acknowledged, so such a message is acknowledged twice. A send that was tried again may have stored
    a message twice, under one id: each of its records may be acknowledged once.

    Args:
        acknowledged: How many acknowledgements were answered with OK, by message id.
        stored: The topic's messages.
    """
    records = Counter(event["msgId"] for event in stored)
    return [name for name, count in acknowledged.items() if count > records[name]]
