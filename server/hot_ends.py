"""The short way of ends of transactions: the outcomes that one read brought are stored as one group, answered together.

It takes JSON requests (37) that pass every check and decide something; any other frame, and what is refused, goes the
general way, which gives the same decisions their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rocketwire.server.appending import append_group, refusal_of
from rocketwire.server.errors import ServerError, ServiceUnavailable, response_code
from rocketwire.server.guard import Guard
from rocketwire.server.metrics import Metrics
from rocketwire.server.request import Reply
from rocketwire.server.session import Session
from rocketwire.server.transactions.ending import Outcome
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.errors import StoreError
from rocketwire.store.store import Draft, MessageStore
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION_4_9_7
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.fast_ends import EndHeader, decode_end, end_answer
from rocketwire.wire.header import Header

_JSON: Final = 0


class _Ticket(NamedTuple):
    """A request of the group, and what it stores."""

    header: EndHeader
    outcome: Outcome


class HotEnds:
    """Collects the transactions that one session's read decides and stores their outcomes together."""

    def __init__(self, transactions: Transactions, store: MessageStore, metrics: Metrics) -> None:
        self._transactions = transactions
        self._store = store
        self._metrics = metrics
        self._session: Session | None = None
        self._tickets: list[_Ticket] = []
        self._decided: set[int] = set()

    def offer(self, session: Session, frame: RawFrame, guards: Sequence[Guard]) -> bool:
        """Take a request into the group, or leave the frame to the general way."""
        if frame.serialize_type != _JSON:
            return False
        header = decode_end(frame.header)
        if header is None or header.flag & FLAG_RESPONSE:
            return False
        try:
            for guard in guards:
                guard.admit(session, header.code, header.fields, frame)
            outcome = self._transactions.outcome(header.fields)
        except (ServerError, StoreError, WireError):
            return False
        if outcome is None or outcome.offset in self._decided:  # the first decision has to be stored before the second
            return False
        self._session = session
        self._decided.add(outcome.offset)
        self._tickets.append(_Ticket(header, outcome))
        self._metrics.requests[header.code] += 1
        return True

    def finish(self) -> None:
        """Store the group and write its answers."""
        session = self._session
        if session is None:
            return
        tickets = self._tickets
        self.discard()
        drafts: list[Draft] = []
        for _, outcome in tickets:
            drafts += outcome.drafts
        _, refusals = append_group(self._store, drafts)
        out = []
        at = 0
        for header, outcome in tickets:
            first = at
            at += len(outcome.drafts)
            error = refusal_of(refusals, first, at) if refusals else None
            if error is not None:
                self._refuse(session, header, error)
                continue
            self._transactions.stored(outcome)
            if not header.flag & FLAG_ONEWAY:
                out.append(end_answer(header.opaque, VERSION_4_9_7))
        if out:
            session.write(b"".join(out))

    @staticmethod
    def _refuse(session: Session, header: EndHeader, error: Exception) -> None:
        refusal = error if isinstance(error, ServiceUnavailable) else ServiceUnavailable(str(error))
        request = Header(code=header.code, opaque=header.opaque, flag=header.flag)
        session.answer(request, _JSON, Reply(code=response_code(refusal), remark=str(refusal)))

    def discard(self) -> None:
        """Forget the group: nothing of it is stored or answered."""
        self._session = None
        self._tickets = []
        self._decided = set()
