"""Storing a group of drafts, and reporting the outcome of each.

Every message that a broker stores comes through here: sends, messages that are sent back, the outcomes of
transactions, delayed and timer messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from rocketwire.server.core.errors import ServiceUnavailable
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.messages.page_cache import PageCacheGuard
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.append.group_commit import GroupCommit
from rocketwire.store.errors import DraftRefused, StoreGone
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.facts.codes import ResponseCode

Refusals = Mapping[int, Exception]
"""Why drafts were not stored, by their place in the group; `server.core.errors` has the response codes."""

NOT_STORED: Final = AppendResult(-1, 0, -1)
"""Stands for a refused draft among those that were appended."""

_NO_REFUSALS: Final[Refusals] = {}


def append_group(store: StoreProtocol, drafts: Sequence[Draft]) -> tuple[list[AppendResult], Refusals]:
    """Append drafts in their order; give the outcome of each, and the refusals if there are any.

    A draft that the store can never take, or whose queue's file is missing, is refused alone, or with the batch it
    begins, and those behind it are stored; an error of no single draft, as a full disk, refuses all that remain.
    """
    appended = store.append(drafts)
    if len(appended) == len(drafts):
        return appended, _NO_REFUSALS
    refusals: dict[int, Exception] = {}
    while (at := len(appended)) < len(drafts):
        # Taken down now: the next append, of anyone, sets it again.
        error = store.append_error
        refusal = error if isinstance(error, DraftRefused) else ServiceUnavailable(error)
        if refusal is error or (isinstance(error, StoreGone) and store.append_refusal is None):
            refused = range(at, at + max(1, drafts[at].group_size))
            refusals.update(dict.fromkeys(refused, refusal))
            appended += [NOT_STORED] * len(refused)
            appended += store.append(drafts[refused.stop :])
        else:
            rest = range(at, len(drafts))
            refusals.update(dict.fromkeys(rest, refusal))
            appended += [NOT_STORED] * len(rest)
    return appended, refusals


def refusal_of(refusals: Refusals, first: int, end: int) -> Exception | None:
    """Why a send is refused that drafts `first` to `end` belong to; None when all of them were stored."""
    return next((refusals[at] for at in range(first, end) if at in refusals), None)


OnStored = Callable[[Sequence[AppendResult], ResponseCode, Refusals], None]
"""Called with the outcome of each draft, SUCCESS or FLUSH_DISK_TIMEOUT for the stored ones, and the others'
refusals."""

KEPT_EACH: Final = 1024
"""Bytes that a send, or a read of the kernel's, keeps until the disk has it, beside its answer."""
_FLUSH_KEY: Final = "waitForFlush"


class FlushableConnection(Protocol):
    """A connection that sends what is written to it when `flush` is called."""

    def flush(self) -> None:
        """Send it."""


class MessageWriter:
    """Stores messages. `flush` reports when the disk has them, under SYNC_FLUSH."""

    def __init__(
        self, store: StoreProtocol, *, flush: GroupCommit | None, metrics: Metrics, page_cache: PageCacheGuard
    ) -> None:
        self._store = store
        self._flush = flush
        self._metrics = metrics
        self._page_cache = page_cache
        self._unsent: dict[FlushableConnection, None] = {}
        if flush is not None:
            flush.on_answered.subscribe(self._send_answers)

    @property
    def waits_for_disk(self) -> bool:
        """Whether answers wait until the disk has what they are about."""
        return self._flush is not None

    def append_and_report(
        self, drafts: list[Draft], outcome: OnStored, *, wait: bool, peer: FlushableConnection | None = None
    ) -> None:
        """Append the drafts as one group and `report`."""
        appended, refusals = self.append(drafts)
        self.report(appended, refusals, outcome, wait=wait, peer=peer)

    def append(self, drafts: Sequence[Draft]) -> tuple[list[AppendResult], Refusals]:
        """Append the drafts as one group, and count them; return the outcome of each, and the refusals."""
        if self._page_cache.is_busy:
            refusal = self._page_cache.refusal(len(drafts))
            return [NOT_STORED] * len(drafts), dict.fromkeys(range(len(drafts)), refusal)
        if self._flush is not None and self._flush.is_full:
            self._metrics.limited[_FLUSH_KEY] += len(drafts)
            self._metrics.puts_failed += len(drafts)
            full = LimitExceeded(_FLUSH_KEY, self._flush.max_bytes)
            return [NOT_STORED] * len(drafts), dict.fromkeys(range(len(drafts)), full)
        began = self._page_cache.now()
        appended, refusals = append_group(self._store, drafts)
        self._page_cache.note_append(began)
        stored = _stored(appended, refusals)
        if refusals:
            self._metrics.puts_failed += len(refusals)
        if stored:
            self._metrics.stored(len(stored), stored[-1].physical_offset + stored[-1].size - stored[0].physical_offset)
        return appended, refusals

    def report(
        self,
        appended: list[AppendResult],
        refusals: Refusals,
        outcome: OnStored,
        *,
        wait: bool,
        peer: FlushableConnection | None = None,
    ) -> None:
        """Report what `append` gave; under SYNC_FLUSH with `wait` not before the disk has what was stored.

        What `outcome` writes to `peer` then is sent with all that became durable together.
        """
        stored = _stored(appended, refusals)
        if self._flush is None or not wait or not stored:
            outcome(appended, ResponseCode.SUCCESS, refusals)
            return

        def durable(done: bool) -> None:  # noqa: FBT001 - GroupCommit's shape
            outcome(appended, ResponseCode.SUCCESS if done else ResponseCode.FLUSH_DISK_TIMEOUT, refusals)
            if peer is not None:
                self.flush_when_answered(peer)

        self._flush.wait_durable(stored[-1].physical_offset + stored[-1].size, durable, keeps=KEPT_EACH * len(appended))

    def flush_when_answered(self, peer: FlushableConnection) -> None:
        """Send what was written to `peer`, of what became durable, when all of that is answered."""
        self._unsent[peer] = None

    def _send_answers(self) -> None:
        unsent, self._unsent = self._unsent, {}
        for peer in unsent:
            peer.flush()


def _stored(appended: list[AppendResult], refusals: Refusals) -> list[AppendResult]:
    return [each for each in appended if each is not NOT_STORED] if refusals else appended
