"""Keys of assignments."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import NEWER, key


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentKeys:
    """How groups read messages if no mode is set for them, and whether their clients share the queues."""

    default_message_request_mode: str = key(
        "how 5.x consumers without client rebalance get messages if their mode is not set (401)",
        default="PULL",
        choices=("PULL", "POP"),
        online=True,
        known=NEWER,
    )
    default_pop_share_queue_num: int = key(
        "the same, with POP: how many other clients share a client's queues; -1: all share all",
        default=-1,
        low=-1,
        online=True,
        known=NEWER,
    )
    server_load_balancer_enable: bool = key(
        "the broker divides the queues among such consumers; false: each has all",
        default=True,
        online=True,
        known=NEWER,
    )
