"""Keys of transactions."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionKeys:
    """Whether transactions are accepted, and when undecided ones are checked. Times are milliseconds."""

    reject_transaction_message: bool = key("refuse transactional messages, with code 16", default=False, online=True)
    transaction_time_out: int = key("ms from the birth of a half message to its first check", default=6000, online=True)
    transaction_check_interval: int = key("ms between two rounds of such checks", default=60_000, low=1, online=True)
    transaction_check_max: int = key(
        "most checks of a half message; then it goes to TRANS_CHECK_MAX_TIME_TOPIC", default=15, online=True
    )
