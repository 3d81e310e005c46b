"""Consumers that give a message back to be tried again (36)."""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.retry.send_back import SendBack
from rocketwire.wire.codes import RequestCode
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader


def _send_back(send_back: SendBack, request: Request[ConsumerSendMsgBackRequestHeader]) -> Reply:
    send_back.take(request.fields, request.header.version)
    return Reply()


ROUTES: Final = (
    Route(
        code=RequestCode.CONSUMER_SEND_MSG_BACK,
        header=ConsumerSendMsgBackRequestHeader,
        handler=_send_back,
        heading="try a message again later",
    ),
)
