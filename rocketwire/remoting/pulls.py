"""Pull requests without a consumer group: no long polling, and no committed offsets."""

from __future__ import annotations

from typing import Final

from rocketwire.wire.facts.codes import PullSysFlag, ResponseCode
from rocketwire.wire.headers.pull import PullMessageRequestHeader

PULLED: Final = (
    ResponseCode.SUCCESS,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)
"""The codes of answers that say where the next pull begins; the first one brings messages."""


def pull_header(topic: str, queue_id: int, offset: int, *, most: int, group: str) -> PullMessageRequestHeader:
    """The header that asks for up to `most` messages of a queue from an offset on, whatever their tags."""
    return PullMessageRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=most,
        sys_flag=PullSysFlag.SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        sub_version=0,
        subscription="*",
        expression_type="TAG",
    )
