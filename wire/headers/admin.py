"""Headers of administration: codes 17, 26, 215, 315, 317 and 351."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32


class CreateTopicRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Create or change a topic (17); ``perm`` has the bits of ``Permission``."""

    topic: str
    default_topic: str = ""
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    order: bool = False
    topic_sys_flag: Int32 | None = None
    attributes: str | None = None
    """Changes of attributes, as 5.x's clients request them: ``+name=value`` or ``-name``, with commas between."""


class GetBrokerConfigResponseHeader(WireHeader, frozen=True, kw_only=True):
    """The broker's data version as JSON text; the configuration itself is the body (26)."""

    version: str


class ViewBrokerStatsDataRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request one item of the statistics (315); a key of a group and a topic is ``topic@group``."""

    stats_name: str
    stats_key: str


class GetConsumeStatsInBrokerHeader(WireHeader, frozen=True, kw_only=True):
    """Request the progress of all groups (317), or only in topics with an order."""

    is_order: bool


class DeleteTopicRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Delete a topic (215)."""

    topic: str = ""


class GetTopicConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request one topic's configuration (351)."""

    topic: str
