"""Transactions: the decision of a producer (37). The back-check (39), which makes it decide, is sent by the broker.

Under SYNC_FLUSH the answer to a commit waits for the disk as that to a send does, if WAIT of the message is set.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from rocketwire.server.core.append import Append, SuccessAnswer
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.transactions.outcomes import DECISIONS, TransactionResolver, decision_refusal
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader

log = logging.getLogger(__name__)

_DONE: Final = SuccessAnswer(decision_refusal)


family: Final = RequestRoutes[TransactionResolver]("transaction")


@family.route(
    RequestCode.END_TRANSACTION,
    header=EndTransactionRequestHeader,
    appends=True,
    summary="commit or roll back a half message",
)
def _end(ending: TransactionResolver, request: Request[EndTransactionRequestHeader]) -> Reply | Append:
    """Have the decision stored, unless there is none or it was made before."""
    fields = request.fields
    decision = ending.check_decision(fields)
    if decision is None:
        if fields.commit_or_rollback in DECISIONS:
            log.info(
                "transaction %(message_id)s of %(group)s is decided already",
                {"message_id": fields.msg_id, "group": fields.producer_group},
            )
        return Reply()
    return Append(
        ending.drafts(decision),
        _DONE,
        decision.wait,
        len(decision.half.body),
        (decision.offset, *decision.others),
        partial(ending.note_decided, decision),
    )
