"""Transactions: what a producer decided (37). The question that makes it decide, 39, is the broker's own."""

from __future__ import annotations

from typing import Final

from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader


def _end(services: BrokerServices, request: Request[EndTransactionRequestHeader]) -> Reply:
    services.transactions.decide(request.fields)
    return Reply()


ROUTES: Final = (
    Route(
        code=RequestCode.END_TRANSACTION,
        header=EndTransactionRequestHeader,
        handler=_end,
        heading="commit or roll back a half message",
    ),
)
