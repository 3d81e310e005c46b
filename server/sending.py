"""Storing what was prepared to be stored, and saying what became of it.

`Sending.commit` appends a group of drafts and says, when the answer may be given, what became of each. Both the general
handlers and the hot paths end here; the drafts are made by `send_drafts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketwire.server.appending import NOT_STORED, Refusals, append_group
from rocketwire.server.metrics import Metrics
from rocketwire.server.page_cache import PageCacheGuard
from rocketwire.server.request import Peer
from rocketwire.server.send_drafts import SendDrafts
from rocketwire.store.flush import GroupCommit
from rocketwire.store.store import Appended, Draft, MessageStore
from rocketwire.wire.codes import ResponseCode

Outcome = Callable[[Sequence[Appended], ResponseCode, Refusals], None]
"""Called with what became of each draft, SUCCESS or FLUSH_DISK_TIMEOUT for the stored ones, and why others were not."""


class Sending:
    """Stores messages.

    Attributes:
        drafts: Makes drafts of sends.
    """

    def __init__(
        self,
        drafts: SendDrafts,
        *,
        store: MessageStore,
        flush: GroupCommit | None,
        metrics: Metrics,
        page_cache: PageCacheGuard,
    ) -> None:
        self.drafts = drafts
        self._store = store
        self._flush = flush
        self._metrics = metrics
        self._page_cache = page_cache
        self._unsent: dict[Peer, None] = {}
        if flush is not None:
            flush.answered = self._send_answers

    def commit(self, drafts: list[Draft], outcome: Outcome, *, wait: bool, peer: Peer | None = None) -> None:
        """Append the drafts as one group and `report`."""
        appended, refusals = self.append(drafts)
        self.report(appended, refusals, outcome, wait=wait, peer=peer)

    def append(self, drafts: Sequence[Draft]) -> tuple[list[Appended], Refusals]:
        """Append the drafts as one group, and count them; what became of each, and the refusals."""
        if self._page_cache.busy:
            refusal = self._page_cache.refusal(len(drafts))
            return [NOT_STORED] * len(drafts), dict.fromkeys(range(len(drafts)), refusal)
        began = self._page_cache.now()
        appended, refusals = append_group(self._store, drafts)
        self._page_cache.appended(began)
        stored = _stored(appended, refusals)
        if stored:
            self._metrics.stored(len(stored), stored[-1].physical_offset + stored[-1].size - stored[0].physical_offset)
        return appended, refusals

    def report(
        self,
        appended: list[Appended],
        refusals: Refusals,
        outcome: Outcome,
        *,
        wait: bool,
        peer: Peer | None = None,
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
                self.send_later(peer)

        self._flush.wait_durable(stored[-1].physical_offset + stored[-1].size, durable)

    def send_later(self, peer: Peer) -> None:
        """Send what was written to `peer`, of what became durable, when all of that is answered."""
        self._unsent[peer] = None

    def _send_answers(self) -> None:
        unsent, self._unsent = self._unsent, {}
        for peer in unsent:
            peer.flush()


def _stored(appended: list[Appended], refusals: Refusals) -> list[Appended]:
    return [each for each in appended if each is not NOT_STORED] if refusals else appended
