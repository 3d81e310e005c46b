"""Consumers that give a message back to be tried again (36)."""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.services import BrokerServices
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader


def _send_back(services: BrokerServices, request: Request[ConsumerSendMsgBackRequestHeader]) -> Reply:
    services.send_back.take(request.fields, request.header.version)
    return Reply()


ROUTES: Final = (
    Route(
        code=RequestCode.CONSUMER_SEND_MSG_BACK,
        header=ConsumerSendMsgBackRequestHeader,
        handler=_send_back,
        heading="try a message again later",
    ),
)
