"""Keys of POP."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import NEWER, key

PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PopKeys:
    """Where popped messages are noted and redelivered, and how many pops may wait."""

    revive_queue_num: int = key(
        "queues of the topic of check points; never make them fewer", default=8, low=1, high=998, known=NEWER
    )
    enable_retry_topic_v2: bool = key(
        "redelivered messages are in topics %RETRY%GROUP+TOPIC, else in %RETRY%GROUP_TOPIC",
        default=False,
        online=True,
        known=NEWER,
    )
    retrieve_message_from_pop_retry_topic_v1: bool = key(
        "with enableRetryTopicV2, pops read both", default=True, online=True, known=NEWER
    )
    pop_from_retry_probability: int = key(
        "percent of pops that read redelivered messages first, not last",
        default=20,
        high=PERCENT,
        online=True,
        known=NEWER,
    )
    pop_response_return_actual_retry_topic: bool = key(
        "answers name the topic that a redelivered message is in, not the one it was sent to",
        default=False,
        online=True,
        known=NEWER,
    )
    init_pop_offset_by_check_msg_in_mem: bool = key(
        "a new group that is to begin at the end begins at offset 0 while that is in memory",
        default=True,
        online=True,
        known=NEWER,
    )
    pop_polling_size: int = key(
        "most pops that wait for the same queue, or topic, and group", default=1024, online=True, known=NEWER
    )
    max_pop_polling_size: int = key("most pops that wait in all", default=100_000, online=True, known=NEWER)
