"""The fast path of messages given back: those of one read are stored as one group and answered with one write.

`HotSends` offers it what is no send, so it sees JSON frames only. It takes requests that pass every check; the general
handler answers all others.
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
from rocketwire.server.retry.send_back import SendBack, Target, refusal
from rocketwire.store.append.drafts import Appended, Draft
from rocketwire.store.errors import StoreError
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.fast_done import DoneAnswers
from rocketwire.wire.fast_send_back import SendBackHeader, decode_send_back
from rocketwire.wire.header import Header
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader

log = logging.getLogger(__name__)

_JSON: Final = 0


class HotSendBacks:
    """Collects what one session's read gives back and stores it together."""

    def __init__(self, send_back: SendBack, storing: Storing, answers: DoneAnswers, metrics: Metrics) -> None:
        self._send_back = send_back
        self._storing = storing
        self._answers = answers
        self._metrics = metrics
        self._session: Session | None = None
        self._headers: list[SendBackHeader] = []
        self._drafts: list[Draft] = []
        self._group: tuple[str, bool] | None = None
        self._known: Target | None = None
        self._bytes = 0

    def offer(self, session: Session, frame: RawFrame) -> bool:
        """Take a request in JSON into the group, or leave the frame to the general way."""
        header = decode_send_back(frame.header)
        if header is None or header.flag & FLAG_RESPONSE:
            return False
        try:
            target = self._target(header.fields)
            if target is None:
                return False
            draft = self._send_back.draft(target, header.fields, header.version)
        except (ServerError, StoreError, WireError):
            return False
        self._session = session
        self._headers.append(header)
        self._drafts.append(draft)
        self._bytes += len(draft.body)
        if self._bytes > LONG_GROUP_BYTES:
            session.let_others()
        self._metrics.requests[header.code] += 1
        return True

    def _target(self, fields: ConsumerSendMsgBackRequestHeader) -> Target | None:
        """Where the message goes: asked once for those of one group, of which a client mostly is."""
        group = (fields.group, fields.unit_mode)
        if group != self._group:
            self._known = self._send_back.target(fields.group, unit_mode=fields.unit_mode)
            self._group = group
        return self._known

    def finish(self) -> None:
        """Store the group and write its answers; none waits for the disk."""
        session = self._session
        if session is None:
            return
        headers, drafts = self._headers, self._drafts
        self.discard()

        def outcome(_appended: Sequence[Appended], _code: ResponseCode, refusals: Refusals) -> None:
            self._answer(session, headers, refusals)

        try:
            self._storing.commit(drafts, outcome, wait=False)
        except Exception as error:  # a bug must not take the connection, nor the other groups
            log.exception("messages given back from %s", session.remote_text, extra=session.who())
            refuse_all(session, headers, error)

    def _answer(self, session: Session, headers: Sequence[SendBackHeader], refusals: Refusals) -> None:
        out = []
        for at, header in enumerate(headers):
            if refusals and at in refusals:
                error = refusal(refusals[at])
                request = Header(code=header.code, opaque=header.opaque, flag=header.flag)
                session.answer(request, _JSON, Reply(code=response_code(error), remark=str(error)))
            elif not header.flag & FLAG_ONEWAY:
                out.append(self._answers.encode(header.opaque))
        if out:
            session.write(b"".join(out))

    def discard(self) -> None:
        """Forget the group: nothing of it is stored or answered."""
        self._session = None
        self._headers = []
        self._drafts = []
        self._group = self._known = None
        self._bytes = 0
