"""What requests name: the topics and groups that a request needs permissions for, from its fields and its body.

A consumer group is keyed by its retry topic, so that one table serves topics and groups. This module ignores missing
fields: without them the request fails anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocketwire.server.clients.order_locks import check_size
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.assignment import QueryAssignmentRequestBody
from rocketwire.wire.bodies.client import HeartbeatData
from rocketwire.wire.bodies.pop import decode_batch
from rocketwire.wire.names import RETRY_PREFIX, TRACE_TOPIC, original_pop_topic, retry_topic

# Apache's bits of permissions. DENY overrides all others.
DENY: Final = 1
PUB: Final = 4
SUB: Final = 8

_BITS: Final = {"DENY": DENY, "PUB": PUB, "SUB": SUB, "PUB|SUB": PUB | SUB, "SUB|PUB": PUB | SUB}


def is_permission(text: str) -> bool:
    """Whether the text is a valid permission."""
    return text.strip() in _BITS


def parse_permissions(text: str | None) -> int:
    """The bits of a permission's text; missing or unknown text: DENY."""
    return DENY if text is None else _BITS.get(text.strip(), DENY)


def allows(owned: int, needed: int) -> bool:
    """Whether the bits `owned` allow a request that needs one of the bits `needed`."""
    return not owned & DENY and bool(owned & needed)


def assignment(text: str) -> tuple[str, str] | None:
    """Name and permission text of `NAME=PERMISSION`; None: the text has another form. Empty parts do not count."""
    parts = [part for part in text.split("=") if part]
    return (parts[0].strip(), parts[1].strip()) if len(parts) == len(("name", "permission")) else None


class NeededPermissions(NamedTuple):
    """Permission bits, of which one is enough, and the topics and groups they are needed for."""

    permission: int
    resources: tuple[str, ...]


_LENIENT_BYTES: Final = 1 << 15
"""The longest body with locks that is parsed if it is not plain JSON, which takes long: all clients write plain JSON.
"""
_ASSIGNMENT_BYTES: Final = 1 << 13
"""The longest query of a client's queues: it names a topic, a group and the client."""
_FEWEST_ENTRIES: Final = 16_384
_BYTES_PER_ENTRY: Final = 16
"""A heartbeat may have one entry for each so many bytes, and more only if it is short (see docs/limits.md)."""
_MOST_PARTS: Final = 4
"""Of the key of statistics."""
NOTHING: Final = NeededPermissions(SUB, ())
_ROUTE_PERMISSIONS: Final = {str(bits): bits for bits in (PUB, SUB, PUB | SUB)}
"""The permissions that a gRPC call of a topic's route names; frames may name anything."""


def sent_to(topic: str) -> NeededPermissions:
    """The permissions needed to store a message in a topic."""
    if topic.startswith(RETRY_PREFIX):  # a consumer sends back what it could not consume
        return NeededPermissions(SUB, (topic,))
    return NOTHING if topic == TRACE_TOPIC else NeededPermissions(PUB, (topic,))


def of_statistics(ext: Mapping[str, str]) -> NeededPermissions:
    """The topic, and the group if there is one, of the requested statistics.

    The key is the topic, `topic@group`, or as Apache's brokers have it for some, a queue or an account in front and
    more behind: `queue@topic@group`, `account@topic@group@type`.
    """
    key = ext.get("statsKey")
    if key is None or ext.get("statsName", "").startswith("BROKER_"):
        return NOTHING
    first, *more = key.split("@", _MOST_PARTS)
    topic, *groups = more if len(more) > 1 else (first, *more)
    return NeededPermissions(PUB | SUB, (topic, *(retry_topic(group) for group in groups[:1] if group)))


def of_route(ext: Mapping[str, str]) -> NeededPermissions:
    """What a gRPC call needs for a topic's route; a frame's request for a route needs nothing."""
    permission, group = _ROUTE_PERMISSIONS.get(ext.get("permission", "")), ext.get("consumerGroup")
    if permission is None:
        return NOTHING
    topics = (ext.get("topic", ""),)
    return NeededPermissions(permission, topics if group is None else (*topics, retry_topic(group)))


def of_assignment(body: memoryview) -> NeededPermissions:
    """The topic and the group in a query of a client's queues."""
    if len(body) > _ASSIGNMENT_BYTES:
        raise LimitExceeded("assignmentBytes", _ASSIGNMENT_BYTES)
    query = decode_body(QueryAssignmentRequestBody, body)
    return NeededPermissions(SUB, (query.topic, retry_topic(query.consumer_group)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Locks:
    """The group and the client of requests about queue locks."""

    consumer_group: str = ""
    client_id: str = ""


def of_locks(body: memoryview) -> NeededPermissions:
    """The group whose queues are to be locked or unlocked."""
    return NeededPermissions(SUB, (retry_topic(_locks(body).consumer_group),))


def locks_sender(body: memoryview) -> str:
    """The client id for which queues are to be locked or unlocked."""
    return _locks(body).client_id


def _locks(body: memoryview) -> _Locks:
    check_size(body)
    return decode_body(_Locks, body, lenient_limit=_LENIENT_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sender:
    """The client that sends a heartbeat."""

    client_id: str = field(default="", metadata={"wire": "clientID"})


def heartbeat_sender(body: memoryview) -> str:
    """The client id of a heartbeat.

    Raises:
        BodyInvalid: it cannot be parsed.
    """
    return decode_body(_Sender, body, most_entries=_heartbeat_entries(body)).client_id


def _heartbeat_entries(body: memoryview) -> int:
    return max(_FEWEST_ENTRIES, len(body) // _BYTES_PER_ENTRY)


def of_heartbeat(body: memoryview) -> NeededPermissions:
    """Every group and topic of a heartbeat, but for groups of producers."""
    found: dict[str, None] = {}
    for consumer in decode_body(HeartbeatData, body, most_entries=_heartbeat_entries(body)).consumer_data_set:
        found[retry_topic(consumer.group_name)] = None
        found.update(dict.fromkeys(subscription.topic for subscription in consumer.subscription_data_set))
    return NeededPermissions(SUB, tuple(found))


def of_acks(body: memoryview) -> NeededPermissions:
    """Every group and topic whose messages a batch acknowledges."""
    if not body:
        return NOTHING
    found: dict[str, None] = {}
    for ack in decode_batch(body).acks:
        found[original_pop_topic(ack.topic, ack.consumer_group)] = None
        found[retry_topic(ack.consumer_group)] = None
    return NeededPermissions(SUB, tuple(found))


def of_pop(ext: Mapping[str, str]) -> NeededPermissions:
    """The topic and the group of a request of POP.

    The topic may be a retry topic of the group, and stands for the one whose messages are redelivered there.
    """
    topic, group = ext.get("topic"), ext.get("consumerGroup")
    found = () if topic is None else (original_pop_topic(topic, group or ""),)
    return NeededPermissions(SUB, found if group is None else (*found, retry_topic(group)))


def resource_text(resource: str) -> str:
    """The name of a topic or group in a refusal."""
    is_group = resource.startswith(RETRY_PREFIX)
    return f"group:{resource.removeprefix(RETRY_PREFIX)}" if is_group else f"topic:{resource}"
