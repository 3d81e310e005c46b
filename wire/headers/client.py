"""Headers of clients and their groups: codes 35, 38 and 40."""

import msgspec

from rocketwire.wire.headers._codec import WireHeader


class UnregisterClientRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A client leaves its producer group, its consumer group or both (35)."""

    client_id: str = msgspec.field(name="clientID", default="")
    producer_group: str | None = None
    consumer_group: str | None = None


class UnregisterClientResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Nothing."""


class GetConsumerListByGroupRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the client ids of a consumer group (38)."""

    consumer_group: str


class GetConsumerListByGroupResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Nothing: the ids are in the body."""


class NotifyConsumerIdsChangedRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Have the clients of a group rebalance its queues (40, oneway, from the broker)."""

    consumer_group: str
