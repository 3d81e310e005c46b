"""Headers of transactions: codes 37, 39 and 323."""

from rocketwire.wire.headers._codec import WireHeader
from rocketwire.wire.java import Int32, Int64


class EndTransactionRequestHeader(WireHeader, frozen=True, kw_only=True):
    """A producer commits or rolls back its half message (37)."""

    producer_group: str
    tran_state_table_offset: Int64
    """Offset in the queue of half messages."""
    commit_log_offset: Int64
    """Physical offset of the half message."""
    commit_or_rollback: Int32
    """The transaction bits of a sysFlag: COMMIT, ROLLBACK, or 0 for "not known yet"."""
    from_transaction_check: bool = False
    msg_id: str = ""
    """The message's UNIQ_KEY."""
    transaction_id: str | None = None
    bname: str | None = None


class CheckTransactionStateRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Back-check: query the producer of a half message, the body, for its state (39, oneway, from the broker)."""

    tran_state_table_offset: Int64
    commit_log_offset: Int64
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    bname: str | None = None


class ResumeCheckHalfMessageRequestHeader(WireHeader, frozen=True, kw_only=True):
    """Resume the back-checks of a half message that remained undecided (323)."""

    msg_id: str = ""
    """The offset message id."""
