"""Replies to requests (324, 325): forwarded to the producer of the request, then stored, then answered.

As with Apache, a reply that no producer received is stored nevertheless; its answer has the error and the place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import MessageIllegal, ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import RequestRoutes
from rocketwire.server.messages.message_writer import MessageWriter, Refusals
from rocketwire.server.send.drafts import SendPreparer
from rocketwire.server.send.keys import ReplyKeys
from rocketwire.server.send.replies import ReplyForwarder
from rocketwire.store.append.drafts import AppendResult
from rocketwire.wire import names
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.send import SendMessageRequestHeader, SendMessageResponseHeader
from rocketwire.wire.message_id import offset_message_id

log = logging.getLogger(__name__)

_NOT_STORED: Final = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyServices:
    """What the handlers of replies need; `wake` has waiting pulls check what was stored."""

    keys: LiveGroup[ReplyKeys]
    broker_keys: LiveGroup[BrokerKeys]
    replies: ReplyForwarder
    sending: SendPreparer
    storing: MessageWriter
    store_host: bytes
    wake: Callable[[], None]


family: Final = RequestRoutes[ReplyServices]("reply")


@family.route(
    RequestCode.SEND_REPLY_MESSAGE_V2,
    header=SendMessageRequestHeader,
    response=SendMessageResponseHeader,
    short=True,
    summary="a reply to a request, handed to the producer of the request",
)
@family.route(
    RequestCode.SEND_REPLY_MESSAGE,
    header=SendMessageRequestHeader,
    response=SendMessageResponseHeader,
    summary="a reply to a request, handed to the producer of the request (long header names)",
)
def _send_reply(services: ReplyServices, request: Request[SendMessageRequestHeader]) -> Reply | None:
    fields = request.fields
    peer, held = request.peer, request.held()
    body = bytes(request.body)  # it is stored when the producer has answered
    broker = services.broker_keys.current
    ext = {property_names.TRACE_ON: "true" if broker.trace_on else "false", property_names.MSG_REGION: broker.region_id}
    try:
        prepared = services.sending.drafts.message(fields, memoryview(body), peer.born_host, peer.remote_text)
        if prepared.drafts[0].topic == names.TRANS_HALF_TOPIC:
            raise MessageIllegal(f"property {property_names.TRANSACTION_PREPARED}: a reply has no transaction")
    except (ServerError, WireError) as error:
        if isinstance(error, LimitExceeded):  # the dispatcher counts only those that it is to answer itself
            peer.limited(error)
        return Reply(code=response_code(error), remark=str(error), ext=ext)

    def pushed(problem: str | None) -> None:
        def answer(message_id: str | None, queue_offset: int) -> None:
            where = None
            if message_id is not None or problem is None:
                where = SendMessageResponseHeader(
                    msg_id=message_id or _NOT_STORED, queue_id=prepared.queue_id, queue_offset=queue_offset
                )
            code = ResponseCode.SUCCESS if problem is None else ResponseCode.SYSTEM_ERROR
            peer.reply(held, Reply(code=code, remark=problem, fields=where, ext=ext))
            peer.flush()

        def stored(appended: Sequence[AppendResult], _code: ResponseCode, refusals: Refusals) -> None:
            if refusals:
                log.warning(
                    "a reply from %(peer)s was not stored: %(reason)s",
                    {"peer": peer.remote_text, "reason": refusals[0]},
                )
                answer(None, 0)
            else:
                message_id = offset_message_id(services.store_host, appended[0].physical_offset)
                answer(message_id, appended[0].queue_offset)

        if services.keys.current.store_reply_message_enable:
            services.storing.append_and_report(prepared.drafts, stored, wait=prepared.wait)
            services.wake()
        else:
            answer(None, 0)

    services.replies.forward(fields, body, peer.remote_text, pushed)
    return None
