"""The fast path of ends of transactions: the outcomes of one read are stored as one group and answered together.

It takes JSON requests (37) that pass every check and decide something; the general handler answers all others.
`HotPaths` gives it requests of its code only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.hot_paths import LONG_GROUP_BYTES, refuse_all
from rocketwire.server.messages.appending import Refusals
from rocketwire.server.messages.storing import Storing
from rocketwire.server.net.session import Session
from rocketwire.server.transactions.ending import Carried, Outcome
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.append.drafts import Appended
from rocketwire.store.errors import StoreError
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.fast_done import DoneAnswers
from rocketwire.wire.fast_ends import EndHeader, decode_end
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)

_JSON: Final = 0


class HotEnds:
    """Collects the transactions that one session's read decides and stores their outcomes together."""

    def __init__(self, transactions: Transactions, storing: Storing, answers: DoneAnswers, metrics: Metrics) -> None:
        self._transactions = transactions
        self._storing = storing
        self._answers = answers
        self._metrics = metrics
        self._session: Session | None = None
        self._headers: list[EndHeader] = []
        self._outcomes: list[Outcome] = []
        self._decided: set[int] = set()
        self._bytes = 0

    def offer(self, session: Session, frame: RawFrame) -> bool:
        """Take a request into the group, or leave the frame to the general way."""
        header = decode_end(frame.header)
        if header is None or header.flag & FLAG_RESPONSE:
            return False
        try:
            outcome = self._transactions.outcome(header.fields)
        except (ServerError, StoreError, WireError):
            return False
        # The first decision has to be stored before the second.
        if outcome is None or outcome.offset in self._decided or not self._decided.isdisjoint(outcome.others):
            return False
        self._session = session
        self._decided.add(outcome.offset)
        self._decided.update(outcome.others)
        self._headers.append(header)
        self._outcomes.append(outcome)
        self._bytes += len(outcome.half.body)
        if self._bytes > LONG_GROUP_BYTES:
            session.let_others()
        self._metrics.requests[header.code] += 1
        return True

    def finish(self) -> None:
        """Store the group; the answers are written now, or when the disk has it if one of them waits for that."""
        session = self._session
        if session is None:
            return
        headers, outcomes = self._headers, self._outcomes
        self.discard()
        try:
            carried = self._transactions.carry_out(outcomes)
        except Exception as error:  # a bug must not take the connection, nor the other groups
            log.exception("ends of transactions from %s", session.remote_text, extra=session.who())
            refuse_all(session, headers, error)
            return

        def answer(_appended: Sequence[Appended], code: ResponseCode, _refusals: Refusals) -> None:
            self._answer(session, headers, carried, code)

        wait = any(outcome.wait for outcome in outcomes)
        self._storing.report(carried.appended, carried.refusals, answer, wait=wait, peer=session)

    def _answer(self, session: Session, headers: Sequence[EndHeader], carried: Carried, code: ResponseCode) -> None:
        refused = carried.refused
        if code != ResponseCode.SUCCESS or refused:
            for at, header in enumerate(headers):
                error = refused.get(at)
                reply = Reply(code=code) if error is None else Reply(code=response_code(error), remark=str(error))
                session.answer(Header(code=header.code, opaque=header.opaque, flag=header.flag), _JSON, reply)
            return
        encode = self._answers.encode
        out = [encode(header.opaque) for header in headers if not header.flag & FLAG_ONEWAY]
        if out:
            session.write(b"".join(out))

    def discard(self) -> None:
        """Forget the group: nothing of it is stored or answered."""
        self._session = None
        self._headers = []
        self._outcomes = []
        self._decided = set()
        self._bytes = 0
