"""Keys of quotas, and of the other reasons for code 215: docs/throttling.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import NEWER, OURS, key

RATE_WORDING: Final = "rate"
FLOW_CONTROL_WORDING: Final = "flow-control"

_NUMBER: Final = r"(?:[0-9]{1,9}|-)"
_ITEM: Final = rf"(?:[%|a-zA-Z0-9_-]+|\*)={_NUMBER}/{_NUMBER}"
_QUOTAS: Final = (
    rf"(?:{_ITEM}(?:[,\s]+{_ITEM})*)?",
    "items NAME=SEND/RECEIVE (* for other names, - for no quota, at most 999999999) with commas or blanks between",
)
_ACCOUNT: Final = rf"[^\s,=]+={_NUMBER}/{_NUMBER}"
_ACCOUNT_QUOTAS: Final = (rf"(?:{_ACCOUNT}(?:[,\s]+{_ACCOUNT})*)?", _QUOTAS[1])
_RATIO: Final = (
    "(?:0*[1-9][0-9]{0,3}:[0-9]{1,4}|[0-9]{1,4}:0*[1-9][0-9]{0,3})",
    "two numbers up to 9999 with a colon between, one of them above 0",
)
_MOST_FACTOR: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleKeys:
    """Quotas and thresholds. Quotas are converted messages a second."""

    instance_tps: int = key(
        "quota of the broker, both directions together; 0: none", default=0, online=True, known=OURS
    )
    send_receive_ratio: str = key(
        "how instanceTps is divided between sends and receives", default="1:1", form=_RATIO, online=True, known=OURS
    )
    topic_quotas: str = key("quotas of topics", default="", form=_QUOTAS, online=True, known=OURS)
    group_quotas: str = key(
        "quotas of producer groups (sends) and consumer groups (receives)",
        default="",
        form=_QUOTAS,
        online=True,
        known=OURS,
    )
    account_quotas: str = key(
        "quotas of accounts, by their access keys; they need access control",
        default="",
        form=_ACCOUNT_QUOTAS,
        online=True,
        known=OURS,
    )
    converted_message_bytes: int = key(
        "bytes; a message counts once for each started piece of its body of this size",
        default=4096,
        low=1,
        online=True,
        known=OURS,
    )
    transactional_factor: int = key(
        "how often a transactional message counts", default=5, low=1, high=_MOST_FACTOR, online=True, known=OURS
    )
    ordered_factor: int = key(
        "how often an ordered message counts", default=5, low=1, high=_MOST_FACTOR, online=True, known=OURS
    )
    scheduled_factor: int = key(
        "how often a timer or delayed message counts",
        default=5,
        low=1,
        high=_MOST_FACTOR,
        online=True,
        known=OURS,
    )
    throttle_wording: str = key(
        "the remark beside code 215: that of the one cloud service or of the other",
        default=RATE_WORDING,
        choices=(RATE_WORDING, FLOW_CONTROL_WORDING),
        online=True,
        known=OURS,
    )
    group_backlog_threshold: int = key(
        "sends to a topic are refused while a group is more messages behind; 0: never",
        default=0,
        online=True,
        known=OURS,
    )
    cold_data_flow_control_enable: bool = key(
        "refuse pulls of groups that read too much from the disk", default=False, online=True, known=NEWER
    )
    cg_cold_read_threshold: int = key(
        "bytes a second that a group may read from the disk", default=3 << 20, online=True, known=NEWER
    )
    global_cold_read_threshold: int = key(
        "bytes a second that all groups together may read from the disk", default=100 << 20, online=True, known=NEWER
    )
