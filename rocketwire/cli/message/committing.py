"""The committed offsets of a consumer group, read and written as a consumer does."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from rocketwire.cli.message.pulls import PulledQueueMessages
from rocketwire.remoting.admin import offsets
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NoBroker, NotReached

_EVERY_SECONDS: Final = 1.0


def committed(queue: PulledQueueMessages, group: str) -> int | None:
    """The offset that a group goes on at in a queue; None if it has none.

    Raises:
        NotReached, Refused: the broker does not answer, or refuses.
    """
    return offsets.committed_offset(queue.connection, group, queue.topic, [queue.queue_id])[queue.queue_id]


def commit(queue: PulledQueueMessages, group: str, offset: int) -> None:
    """Commit an offset of a queue.

    Raises:
        NotReached, Refused: the broker does not answer, or refuses.
    """
    offsets.commit_offset(queue.connection, group, queue.topic, {queue.queue_id: offset})


class CommitProgress:
    """Commits how far a group has come in a topic, at most once a second and at the end."""

    def __init__(self, cluster: BlockingCluster, topic: str, group: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self._group = group
        self._behind: dict[tuple[str, int], int] = {}
        self._last = time.monotonic()

    def reached(self, broker: str, queue_id: int, offset: int) -> None:
        """Everything of a queue before an offset is done. A broker that does not answer gets it later."""
        self._behind[broker, queue_id] = offset
        if time.monotonic() - self._last >= _EVERY_SECONDS:
            with contextlib.suppress(NotReached, NoBroker):
                self.commit()
            self._last = time.monotonic()

    def commit(self) -> None:
        """Commit what is not committed yet.

        Raises:
            NotReached, NoBroker, Refused: a broker does not answer, is not registered, or refuses.
        """
        for broker, queue_id in list(self._behind):
            offset = self._behind[broker, queue_id]
            connection = self._cluster.broker(broker)
            try:
                commit(PulledQueueMessages(broker, connection, self._topic, queue_id), self._group, offset)
            except NotReached:
                # Brokers close connections that are idle for two minutes.
                self._cluster.discard(connection)
                commit(
                    PulledQueueMessages(broker, self._cluster.broker(broker), self._topic, queue_id),
                    self._group,
                    offset,
                )
            del self._behind[broker, queue_id]
