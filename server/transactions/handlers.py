"""Transactions: what a producer decided (37). The question that makes it decide, 39, is the broker's own.

Under SYNC_FLUSH the answer to a commit waits for the disk as that to a send does, if WAIT of the message asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.messages.appending import Refusals
from rocketwire.server.messages.storing import Storing
from rocketwire.server.transactions.ending import DECISIONS
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.append.drafts import Appended
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionServices:
    """What ends of transactions are given."""

    storing: Storing
    transactions: Transactions


def _end(services: TransactionServices, request: Request[EndTransactionRequestHeader]) -> Reply | None:
    fields = request.fields
    outcome = services.transactions.outcome(fields)
    if outcome is None:
        if fields.commit_or_rollback in DECISIONS:
            log.info("transaction %s of %s is decided already", fields.msg_id, fields.producer_group)
        return Reply()
    carried = services.transactions.carry_out([outcome])
    for refusal in carried.refused.values():
        raise refusal
    replies: list[Reply] = []
    later = False

    def answer(_appended: Sequence[Appended], code: ResponseCode, _refusals: Refusals) -> None:
        if later:
            request.peer.reply(request, Reply(code=code))
        else:
            replies.append(Reply(code=code))

    services.storing.report(carried.appended, carried.refusals, answer, wait=outcome.wait, peer=request.peer)
    later = True
    return replies[0] if replies else None


ROUTES: Final = (
    Route(
        code=RequestCode.END_TRANSACTION,
        header=EndTransactionRequestHeader,
        handler=_end,
        heading="commit or roll back a half message",
    ),
)
