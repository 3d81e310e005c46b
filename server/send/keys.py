"""Keys of sends, and of replies to requests."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import OURS, key
from rocketwire.server.limits.keys import LARGEST_BODY


@dataclass(frozen=True, slots=True, kw_only=True)
class SendKeys:
    """Which messages are accepted."""

    enable_topic_message_type_check: bool = key(
        "refuse messages of another type than the topic's attribute message.type says",
        default=True,
        online=True,
        known=OURS,
    )
    max_message_size: int = key(
        "largest message body in bytes", default=4 * 1024 * 1024, low=1, high=LARGEST_BODY, online=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyKeys:
    """How replies are handled."""

    store_reply_message_enable: bool = key(
        "store replies to requests, in the topic named like the cluster with _REPLY_TOPIC", default=True, online=True
    )
