"""The fast path of plain sends: all sends of one read are stored as one group and answered with one write.

It takes JSON sends (310, 320) that pass every check, and offers other frames to `otherwise`. A send that is refused is
left to the general handler, which comes to the same decision and words it. Sends over a quota are answered here: where
there is one, there are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.dispatch.hot_paths import HotPath
from rocketwire.server.messages.appending import Refusals, refusal_of
from rocketwire.server.messages.storing import Storing
from rocketwire.server.net.session import Session
from rocketwire.server.send.sending import Sending
from rocketwire.store.append.drafts import Appended, Draft
from rocketwire.store.errors import StoreError
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE, ResponseCode
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.fast import decode_send
from rocketwire.wire.header import fits
from rocketwire.wire.send_answers import SendAnswers

_JSON: Final = 0


class _Ticket(NamedTuple):
    """A send of the group: what its answer needs, and how many of the drafts are its."""

    opaque: int
    one_way: bool
    queue_id: int
    drafts: int
    recall_handle: bytes | None


class HotSends:
    """Collects the sends of one session's read and stores them together."""

    def __init__(
        self,
        sending: Sending,
        storing: Storing,
        answers: SendAnswers,
        store_host: bytes,
        metrics: Metrics,
        *,
        otherwise: HotPath,
    ) -> None:
        self._sending = sending
        self._storing = storing
        self._otherwise = otherwise
        self._answers = answers
        self._metrics = metrics
        self._id_template = store_host.hex().upper().encode() + b"%016X"
        self._session: Session | None = None
        self._tickets: list[_Ticket] = []
        self._drafts: list[Draft] = []
        self._refused: list[bytes] = []
        self._wait = False

    def offer(self, session: Session, frame: RawFrame) -> bool:
        """Take a send into the group, or leave the frame to the general way."""
        if frame.serialize_type != _JSON or not fits(frame.header):
            return False
        header = decode_send(frame.header)
        if header is None:
            return self._otherwise.offer(session, frame)
        if header.flag & FLAG_RESPONSE:
            return False
        try:
            prepared = self._sending.prepare(header.fields, frame.body, session.born_host, session.remote_text)
        except (ServerError, StoreError, WireError):
            return False
        self._metrics.requests[header.code] += 1
        self._session = session
        if prepared is None:
            if not header.flag & FLAG_ONEWAY:
                remark = self._sending.throttle.send_remark
                self._refused.append(self._answers.refuse(ResponseCode.FLOW_CONTROL, header.opaque, remark))
            return True
        self._drafts += prepared.drafts
        self._tickets.append(
            _Ticket(
                header.opaque,
                bool(header.flag & FLAG_ONEWAY),
                prepared.queue_id,
                len(prepared.drafts),
                prepared.recall_handle,
            )
        )
        self._wait = self._wait or prepared.wait
        return True

    def finish(self) -> None:
        """Store the group; the answers are written now, or when the disk has it."""
        self._otherwise.finish()
        session = self._session
        if session is None:
            return
        if self._refused:
            session.write(b"".join(self._refused))
        group = _Group(session, self._tickets, self._answers, self._id_template)
        drafts, wait = self._drafts, self._wait
        self._forget()
        if drafts:
            self._storing.commit(drafts, group.answer, wait=wait, peer=session)

    def discard(self) -> None:
        """Forget the group: nothing of it is stored or answered."""
        self._otherwise.discard()
        self._forget()

    def _forget(self) -> None:
        self._session = None
        self._tickets = []
        self._drafts = []
        self._refused = []
        self._wait = False


class _Group:
    """A stored group that waits for its answers."""

    __slots__ = ("_answers", "_id_template", "_session", "_tickets")

    def __init__(self, session: Session, tickets: list[_Ticket], answers: SendAnswers, id_template: bytes) -> None:
        self._session = session
        self._tickets = tickets
        self._answers = answers
        self._id_template = id_template

    def answer(self, appended: Sequence[Appended], code: ResponseCode, refusals: Refusals) -> None:
        """Write one answer a send: its ids and offset, or why it was not stored."""
        encode = self._answers.encode
        template = self._id_template
        out = []
        at = 0
        for opaque, one_way, queue_id, count, handle in self._tickets:
            first = at
            at += count
            if one_way:
                continue
            error = refusal_of(refusals, first, at) if refusals else None
            if error is not None:
                out.append(self._answers.refuse(response_code(error), opaque, str(error)))
            elif count == 1:
                record = appended[first]
                message_id = template % record.physical_offset
                out.append(encode(code, opaque, message_id, queue_id, record.queue_offset, handle))
            else:
                ids = b",".join([template % record.physical_offset for record in appended[first:at]])
                out.append(encode(code, opaque, ids, queue_id, appended[first].queue_offset))
        if out:
            self._session.write(b"".join(out))
