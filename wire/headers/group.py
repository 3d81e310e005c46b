"""Headers of subscription groups and their progress: codes 202, 207, 208, 300 and 303."""

from rocketwire.wire.headers._codec import WireHeader


class DeleteSubscriptionGroupRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Remove a group's configuration (207), and its offsets if asked so."""

    group_name: str
    remove_offset: bool | None = None
    clean_offset: bool | None = None
    """What 5.x calls ``remove_offset``."""


class GetConsumeStatsRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Ask how far a group has consumed (208): in one topic, or in all that it has offsets of."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None
    """Only 5.x has it."""


class GetTopicStatsInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Ask where the queues of a topic begin and end (202)."""

    topic: str


class QueryTopicConsumeByWhoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Ask which groups consume a topic (300)."""

    topic: str


class QueryConsumeTimeSpanRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Ask when the messages were stored that a group is at (303)."""

    topic: str
    group: str = ""
