"""Transactions: what a producer decided (37). The question that makes it decide, 39, is the broker's own.

Under SYNC_FLUSH the answer to a commit waits for the disk as that to a send does, if WAIT of the message asks for it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from rocketwire.server.core.append import Append, Done
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.transactions.ending import DECISIONS, Ending, not_decided
from rocketwire.wire import fast_headers
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader

log = logging.getLogger(__name__)

_DONE: Final = Done(not_decided)


def _end(ending: Ending, request: Request[EndTransactionRequestHeader]) -> Reply | Append:
    """Have the decision stored, unless there is none or it was made before."""
    fields = request.fields
    decision = ending.decision(fields)
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
        partial(ending.decided, decision),
    )


ROUTES: Final = (
    Route(
        code=RequestCode.END_TRANSACTION,
        header=EndTransactionRequestHeader,
        handler=_end,
        appends=True,
        fast=fast_headers.END,
        heading="commit or roll back a half message",
    ),
)
