"""Headers of connected clients: codes 203, 204, 220 to 223, 307 and 309."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class GetConsumerConnectionListRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the members of a consumer group (203)."""

    consumer_group: str


class GetProducerConnectionListRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the members of a producer group (204)."""

    producer_group: str


class ResetOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Reset a group's offsets to a time in milliseconds, -1 for the end (222); notify its clients (220)."""

    topic: str
    group: str
    timestamp: Int64
    is_force: bool = False
    """Whether it may go forward too."""
    queue_id: Int32 | None = None
    """Only 5.x sends it: one queue, or -1 for all."""
    offset: Int64 | None = None
    """Only 5.x sends it: an offset in place of the time."""


class GetConsumerStatusRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the offsets in a topic from the clients of a group (221, 223)."""

    topic: str
    group: str
    client_addr: str | None = None
    """The id of one client; without it all clients are queried."""


class GetConsumerRunningInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request the running information of a client (307)."""

    consumer_group: str
    client_id: str
    jstack_enable: bool | None = None


class ConsumeMessageDirectlyResultRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Make a client consume a stored message now (309); the message's id is its offset message id."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    """Only 5.x sends it, as the next two."""
    topic_sys_flag: Int32 | None = None
    group_sys_flag: Int32 | None = None
