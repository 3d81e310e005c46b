"""Requests that append messages: what a handler returns for dispatch to append together with those beside it.

Dispatch collects consecutive ones of one read, of whatever kind, and appends them as one group; a handler neither
stores nor answers itself. See `server.dispatch.group`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.wire.facts.codes import ResponseCode


class AppendAnswer(Protocol):
    """How a request that appends is answered. It is kept until the disk has the messages: it holds no view of them."""

    def reply(self, appended: Sequence[AppendResult], code: ResponseCode) -> Reply:
        """The answer when all its messages are stored: SUCCESS, or FLUSH_DISK_TIMEOUT."""

    def refused(self, error: Exception) -> Reply:
        """The answer when the store refused one of its messages."""


class Append(msgspec.Struct, frozen=True, gc=False):
    """What a request appends.

    Attributes:
        drafts: Its messages, at least one. They are stored in this order, perhaps behind those of other requests.
        answer: How it is answered.
        wait: Whether its answer waits for the disk under SYNC_FLUSH.
        size: Bytes that it stores and did not bring, such as the body of a message that is stored again.
        conflict_keys: What it decides, as numbers. Of one read a second request that decides the same is handled again
            once the first is stored.
        on_stored: Called when its messages are appended, before its answer.
    """

    drafts: Sequence[Draft]
    answer: AppendAnswer
    wait: bool = False
    size: int = 0
    conflict_keys: tuple[int, ...] = ()
    on_stored: Callable[[], None] | None = None


class SuccessAnswer:
    """The answer of requests that contains no more than their success."""

    __slots__ = ("_refusal",)

    def __init__(self, refusal: Callable[[Exception], Exception] = lambda error: error) -> None:
        """Make it; `refusal` gives the error that the client gets for one of the store."""
        self._refusal = refusal

    def reply(self, _appended: Sequence[AppendResult], code: ResponseCode) -> Reply:
        """The answer with this code alone."""
        return Reply(code=code)

    def refused(self, error: Exception) -> Reply:
        """The code and text of the error."""
        refusal = self._refusal(error)
        return Reply(code=response_code(refusal), remark=str(refusal))
