"""Headers of subscription groups and their progress: 202, 207, 208, 300, 303, 308, 314, 343, 345 and 352."""

from rocketwire.wire.headers._codec import WireHeader


class DeleteSubscriptionGroupRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Remove a group's configuration (207), and its offsets if requested."""

    group_name: str
    remove_offset: bool | None = None
    clean_offset: bool | None = None
    """What 5.x calls ``remove_offset``."""


class GetConsumeStatsRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query how far a group has consumed (208): in one topic, or in all that it has offsets of."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None
    """Only 5.x has it."""


class GetTopicStatsInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query where the queues of a topic begin and end (202)."""

    topic: str


class QueryTopicConsumeByWhoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query which groups consume a topic (300)."""

    topic: str


class QueryConsumeTimeSpanRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query when the messages were stored that a group is at (303)."""

    topic: str
    group: str = ""


class QueryCorrectionOffsetHeader(WireHeader, frozen=True, kw_only=True):
    """Query how far the slowest group is in each queue of a topic, where another group is farther (308)."""

    topic: str
    compare_group: str = ""
    filter_groups: str | None = None
    """Groups that do not count, with commas between."""


class CloneGroupOffsetRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Give a group the offsets of another one (314): in one topic, or in all that it has offsets of."""

    src_group: str = ""
    dest_group: str = ""
    topic: str | None = None
    offline: bool = False
    """Whether topics count too that the connected source group does not subscribe to."""


class QueryTopicsByConsumerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query in which topics a group has offsets (343)."""

    group: str


class QuerySubscriptionByConsumerRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Query what a connected group subscribes to of a topic (345)."""

    group: str
    topic: str | None = None


class GetSubscriptionGroupConfigRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Request one group's configuration (352)."""

    group: str
