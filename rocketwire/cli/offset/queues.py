"""The queues of a broker in which a group has offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection


def queues_of(broker: BlockingConnection, group: str, topic: str | None) -> dict[str, list[int]]:
    """The numbers of the queues by topic: of one topic, or of all that the group has offsets in."""
    from rocketwire.remoting.admin.groups import progress

    found: dict[str, list[int]] = {}
    for queue in sorted(progress(broker, group, topic).offset_table, key=lambda each: (each.topic, each.queue_id)):
        found.setdefault(queue.topic, []).append(queue.queue_id)
    return found
