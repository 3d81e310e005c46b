"""Messages for a set time: cancelling one (370)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rocketwire.server.appending import Refusals
from rocketwire.server.errors import RecallFailed, ServerError, response_code
from rocketwire.server.handlers.route import Route
from rocketwire.server.request import Reply, Request
from rocketwire.server.services import BrokerServices
from rocketwire.store.store import Appended
from rocketwire.wire.codes import RequestCode, ResponseCode
from rocketwire.wire.errors import WireError
from rocketwire.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader

#: 5.5.0 never sets the remark that its answers begin with.
_REMARK: Final = "not set any response code"


def _recall(services: BrokerServices, request: Request[RecallMessageRequestHeader]) -> Reply | None:
    """Store what cancels the message, and answer; under SYNC_FLUSH when the disk has it, or does not in time."""
    ext = {"MSG_REGION": services.config.current.region_id}
    peer = request.peer
    try:
        marker = services.recall.marker(request.fields, peer.born_host)
    except (ServerError, WireError) as error:
        return Reply(code=response_code(error), remark=str(error), ext=ext)
    done = Reply(remark=_REMARK, fields=RecallMessageResponseHeader(msg_id=marker.unique_key or ""), ext=ext)
    replies: list[Reply] = []
    later = False

    def outcome(_appended: Sequence[Appended], _code: ResponseCode, refusals: Refusals) -> None:
        failed = RecallFailed()
        reply = Reply(code=response_code(failed), remark=str(failed), ext=ext) if refusals else done
        if later:
            peer.reply(request, reply)
        else:
            replies.append(reply)

    services.sending.commit([marker], outcome, wait=True, peer=peer)
    later = True
    return replies[0] if replies else None


ROUTES: Final = (
    Route(
        code=RequestCode.RECALL_MESSAGE,
        header=RecallMessageRequestHeader,
        response=RecallMessageResponseHeader,
        handler=_recall,
        heading="cancel a message that waits for its time",
    ),
)
