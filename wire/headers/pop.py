"""Headers of POP: codes 200050 to 200055, and those of their answers."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class PopMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Take messages of a topic for a while (200050). Times are in ms, `born_time` since 1970."""

    consumer_group: str
    topic: str
    queue_id: Int32
    """-1: any queue."""
    max_msg_nums: Int32
    invisible_time: Int64
    """How long the messages are kept from others."""
    poll_time: Int64
    """How long the request may wait, from `born_time` on."""
    born_time: Int64
    """When the client made the request; 0: when the broker got it."""
    init_mode: Int32
    """Where a new group begins: 0 with the oldest message, 1 with the newest."""
    exp_type: str | None = None
    exp: str | None = None
    """The filter; `exp_type` is TAG or SQL92."""
    order: bool = False
    attempt_id: str | None = None
    """The same id requests the same ordered batch again."""
    bname: str | None = None


class PopMessageResponseHeader(WireHeader, frozen=True, kw_only=True):
    """What was taken (200050); the three lists are `wire.pop_handle`'s. A peek (200052) fills in `rest_num` alone."""

    pop_time: Int64 = 0
    invisible_time: Int64 = 0
    revive_qid: Int32 = 0
    rest_num: Int64 = 0
    """How many more messages there are, at most: those that pass no filter count."""
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class AckMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A message was consumed (200051)."""

    consumer_group: str
    topic: str
    """The message's own: of a retried one its retry topic."""
    queue_id: Int32
    extra_info: str
    """The handle: see `wire.pop_handle`."""
    offset: Int64
    bname: str | None = None


class ChangeInvisibleTimeRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Keep a message from others for so many ms from now on (200053)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    offset: Int64
    invisible_time: Int64
    suspend: bool = False
    """Of 5.5: the message is not being consumed, so that this is no further try."""
    bname: str | None = None


class ChangeInvisibleTimeResponseHeader(WireHeader, frozen=True, kw_only=True):
    """What the message's new handle is made of (200053)."""

    pop_time: Int64
    invisible_time: Int64
    revive_qid: Int32


class PeekMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Read what a group would take, and take nothing (200052)."""

    topic: str
    queue_id: Int32
    max_msg_nums: Int32
    consumer_group: str
    bname: str | None = None


class NotificationRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Wait until there is a message to take (200054); fields as of `PopMessageRequestHeader`."""

    consumer_group: str
    topic: str
    queue_id: Int32
    poll_time: Int64
    born_time: Int64 = 0
    order: bool = False
    attempt_id: str | None = None
    exp_type: str | None = None
    exp: str | None = None
    bname: str | None = None


class NotificationResponseHeader(WireHeader, frozen=True, kw_only=True):
    """Whether there is a message, and whether so many requests wait that this one could not (200054)."""

    has_msg: bool
    polling_full: bool = False


class PollingInfoRequestHeader(WireHeader, frozen=True, kw_only=True):
    """How many requests of a group wait for a queue (200055)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    bname: str | None = None


class PollingInfoResponseHeader(WireHeader, frozen=True, kw_only=True):
    """How many (200055)."""

    polling_num: Int32
