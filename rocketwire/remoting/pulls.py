"""Pull requests that say themselves which messages are wanted."""

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


def pull_header(
    topic: str,
    queue_id: int,
    offset: int,
    *,
    most: int,
    group: str,
    held_ms: int = 0,
    expression: str = "*",
    kind: str = "TAG",
) -> PullMessageRequestHeader:
    """The header that asks for messages of a queue, and says itself which are wanted.

    Args:
        topic: The topic.
        queue_id: The number of the queue.
        offset: From this offset on.
        most: So many messages.
        group: Pulls in the name of this group.
        held_ms: How long the broker waits for a message; 0: it answers at once.
        expression: Tags with `||` between, or an SQL92 expression.
        kind: TAG or SQL92.
    """
    return PullMessageRequestHeader(
        consumer_group=group,
        topic=topic,
        queue_id=queue_id,
        queue_offset=offset,
        max_msg_nums=most,
        sys_flag=PullSysFlag.SUBSCRIPTION | (PullSysFlag.SUSPEND if held_ms else 0),
        commit_offset=0,
        suspend_timeout_millis=held_ms,
        sub_version=0,
        subscription=expression,
        expression_type=kind,
    )
