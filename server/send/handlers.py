"""Sends: one message (10, 310) or a batch (320), in either serialisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Route
from rocketwire.server.messages.appending import Refusals, refusal_of
from rocketwire.server.messages.storing import Storing
from rocketwire.server.send.sending import Sending
from rocketwire.store.append.drafts import Appended
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers.send import SendMessageRequestHeader, SendMessageResponseHeader
from rocketwire.wire.message_id import offset_message_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SendServices:
    """What sends are given; `store_host` is the advertised address as records hold it."""

    config: LiveConfig
    sending: Sending
    storing: Storing
    store_host: bytes


def _send(services: SendServices, request: Request[SendMessageRequestHeader]) -> Reply | None:
    """Store and answer at once, or, under SYNC_FLUSH, when the disk has it.

    The header, not the code, says whether the body is a batch.
    """
    ext = _ext(services)
    peer = request.peer
    sending = services.sending
    try:
        prepared = sending.prepare(request.fields, request.body, peer.born_host, peer.remote_text)
    except (ServerError, WireError) as error:
        if isinstance(error, LimitExceeded):  # the dispatcher counts only those that it is to answer itself
            peer.limited(error)
        return Reply(code=response_code(error), remark=str(error), ext=ext)
    if prepared is None:
        return Reply(code=ResponseCode.FLOW_CONTROL, remark=sending.throttle.send_remark, ext=ext)
    handle = prepared.recall_handle
    replies: list[Reply] = []
    later = False

    def outcome(appended: Sequence[Appended], code: ResponseCode, refusals: Refusals) -> None:
        error = refusal_of(refusals, 0, len(appended))
        if error is not None:
            reply = Reply(code=response_code(error), remark=str(error), ext=ext)
        else:
            reply = Reply(
                code=code,
                fields=SendMessageResponseHeader(
                    msg_id=",".join(offset_message_id(services.store_host, each.physical_offset) for each in appended),
                    queue_id=prepared.queue_id,
                    queue_offset=appended[0].queue_offset,
                    recall_handle=None if handle is None else handle.decode(),
                ),
                ext=ext,
            )
        if later:
            peer.reply(request, reply)
        else:
            replies.append(reply)

    services.storing.commit(prepared.drafts, outcome, wait=prepared.wait, peer=peer)
    later = True
    return replies[0] if replies else None


def _ext(services: SendServices) -> dict[str, str]:
    """What every answer to a send tells: the official client needs it even with errors."""
    config = services.config.current
    return {"TRACE_ON": "true" if config.trace_on else "false", "MSG_REGION": config.region_id}


ROUTES: Final = (
    Route(
        code=RequestCode.SEND_MESSAGE,
        header=SendMessageRequestHeader,
        response=SendMessageResponseHeader,
        handler=_send,
        heading="store a message (long header names)",
    ),
    Route(
        code=RequestCode.SEND_MESSAGE_V2,
        header=SendMessageRequestHeader,
        response=SendMessageResponseHeader,
        handler=_send,
        short=True,
        heading="store a message",
    ),
    Route(
        code=RequestCode.SEND_BATCH_MESSAGE,
        header=SendMessageRequestHeader,
        response=SendMessageResponseHeader,
        handler=_send,
        short=True,
        heading="store several messages of one queue",
    ),
)
