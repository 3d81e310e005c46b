"""Messages to send."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketwire.remoting.core.unique_ids import UniqueIds
from rocketwire.wire.facts import properties as names


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to send.

    Attributes:
        properties: With its tag, its keys and, if it has one already, its id.
        queue_id: The queue to send it to, modulo the number of queues; None for any.
        order_key: Messages with the same one go to the same queue, in their order; None for any queue.
        reconsume_times: How often it was tried before; of messages for retry topics.
    """

    topic: str
    body: bytes = field(repr=False)
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    queue_id: int | None = None
    order_key: str | None = None
    reconsume_times: int = 0

    @property
    def message_id(self) -> str:
        """Its unique key; empty if it has none yet."""
        return self.properties.get(names.UNIQ_KEY, "")

    def with_id(self, ids: UniqueIds) -> OutgoingMessage:
        """The same with an id."""
        if self.message_id:
            return self
        return self.with_properties({names.UNIQ_KEY: ids.next(), **self.properties})

    def with_properties(self, properties: dict[str, str]) -> OutgoingMessage:
        """The same with other properties; a fifth of the time that `dataclasses.replace` takes."""
        return OutgoingMessage(
            topic=self.topic,
            body=self.body,
            properties=properties,
            flag=self.flag,
            queue_id=self.queue_id,
            order_key=self.order_key,
            reconsume_times=self.reconsume_times,
        )
