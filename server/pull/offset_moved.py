"""Events about pulls outside their queue: a message for each to OFFSET_MOVED_EVENT, as Apache's broker stores it.

Operators read the topic OFFSET_MOVED_EVENT to find groups that lost messages, or whose offset is out of range.
"""

from __future__ import annotations

import logging

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.store.append.drafts import Draft
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire import names
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import MessageQueue, OffsetMovedEvent
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import encode_properties

log = logging.getLogger(__name__)


class OffsetMovedEvents:
    """Writes the events of one broker."""

    def __init__(self, store: StoreProtocol, *, broker_name: str, store_host: bytes, clock: Clock) -> None:
        self._store = store
        self._broker_name = broker_name
        self._store_host = store_host
        self._clock = clock

    def store_event(self, group: str, topic: str, queue_id: int, *, requested: int, new: int) -> None:
        """Store an event: a group requested an offset and was redirected. Dropped if the store is not writable.

        Properties are in Apache's order.
        """
        event = OffsetMovedEvent(
            consumer_group=group,
            message_queue=MessageQueue(topic=topic, broker_name=self._broker_name, queue_id=queue_id),
            offset_request=requested,
            offset_new=new,
        )
        properties = {property_names.KEYS: group, property_names.DELAY: "0", property_names.TAGS: group}
        draft = Draft(
            topic=names.OFFSET_MOVED_EVENT,
            queue_id=0,
            body=encode_body(event),
            properties=encode_properties(properties).encode(),
            flag=0,
            sys_flag=0,
            born_timestamp=self._clock(),
            born_host=self._store_host,
            tags_code=string_hash(group),
            keys=group,
        )
        if not self._store.append([draft]):
            log.warning(
                "group %(group)s, topic %(topic)s: offset event not stored: %(reason)s",
                {"group": group, "topic": topic, "reason": self._store.append_error},
            )
