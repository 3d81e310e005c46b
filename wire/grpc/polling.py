"""How long a ReceiveMessage call may wait for messages."""

from __future__ import annotations

from typing import Final

from rocketwire.wire.grpc.codes import CallInvalid, Code

LEAST_POLLING_MS: Final = 5_000
MOST_POLLING_MS: Final = 20_000
_CODE_SINCE: Final = "5.0.3"


def always_allows_polling(remaining: int | None) -> bool:
    """Whether a deadline leaves time for any polling, so that `polling_ms` cannot refuse the call."""
    return remaining is None or remaining >= MOST_POLLING_MS


def polling_ms(
    wanted: int | None, remaining: int | None, *, request_timeout: int, client_version: str | None = None
) -> int:
    """The milliseconds for which a call waits.

    Args:
        wanted: `long_polling_timeout` of the call.
        remaining: Until its deadline; None: it has none, with which Apache's proxy fails.
        request_timeout: Of the client's settings: half of it is reserved for the answer where nothing is wanted.
        client_version: `x-mq-client-version`.

    Raises:
        CallInvalid: the deadline comes too soon (`ILLEGAL_POLLING_TIME`; `BAD_REQUEST` for clients before 5.0.3).
    """
    if wanted is None:
        wanted = MOST_POLLING_MS if remaining is None else remaining - request_timeout // 2
    polling = min(max(wanted, LEAST_POLLING_MS), MOST_POLLING_MS)
    if remaining is None or polling <= remaining:
        return polling
    if remaining >= LEAST_POLLING_MS:
        return remaining
    old = client_version is None or client_version < _CODE_SINCE
    raise CallInvalid(
        Code.BAD_REQUEST if old else Code.ILLEGAL_POLLING_TIME,
        "The deadline time remaining is not enough for polling, please check network condition",
    )
