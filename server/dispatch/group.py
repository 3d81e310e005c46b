"""The requests of one read that append messages: stored as one group, answered with one write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from rocketwire.server.core.append import Append, AppendAnswer
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.dispatch.caller import Caller
from rocketwire.server.messages.message_writer import MessageWriter, Refusals, refusal_of
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)

LONG_GROUP_BYTES: Final = 512 << 10
"""After a group that stores so many bytes more than the read brought, other connections come next: they had to wait."""


_Ticket: TypeAlias = tuple[int, int, int, int, AppendAnswer, int, int]
"""What the answer to a request of the group needs, perhaps long after it: its code, opaque, flag and serialisation, its
answer, and where its drafts begin and end in the group."""


class AppendGroup:
    """Collects what consecutive requests of one read append."""

    def __init__(self, storing: MessageWriter) -> None:
        self._storing = storing
        self._waiting: list[_Ticket] = []
        self._answer_now: list[_Ticket] = []
        self._drafts: list[Draft] = []
        self._stored: list[tuple[int, int, Callable[[], None]]] = []
        self._decided: set[int] = set()
        self._bytes = 0

    def add(self, caller: Caller, request: Request[Any], append: Append) -> bool:
        """Add a request of the connection whose read this is; False: the group has one that decides the same."""
        if append.conflict_keys:
            if not self._decided.isdisjoint(append.conflict_keys):
                return False
            self._decided.update(append.conflict_keys)
        first = len(self._drafts)
        self._drafts += append.drafts
        end = len(self._drafts)
        header = request.header
        ticket = (header.code, header.opaque, header.flag, request.serialize_type, append.answer, first, end)
        (self._waiting if append.wait else self._answer_now).append(ticket)
        if append.on_stored is not None:
            self._stored.append((first, end, append.on_stored))
        if append.size:
            self._bytes += append.size
            if self._bytes > LONG_GROUP_BYTES:
                caller.request_yield()
        return True

    def finish(self, caller: Caller) -> None:
        """Append the group; the answers are written now, under SYNC_FLUSH those that wait for it after the flush."""
        drafts = self._drafts
        if not drafts:
            return
        waiting, hurried, stored = self._waiting, self._answer_now, self._stored
        self.discard()
        try:
            appended, refusals = self._storing.append(drafts)
        except Exception as error:  # a bug must not take the connection
            log.exception("storing for %(peer)s", {"peer": caller.remote_text})
            reply = Reply(code=response_code(error), remark=f"{type(error).__name__}: {error}")
            for code, opaque, flag, serialize_type, *_ in (*hurried, *waiting):
                caller.answer(Header(code=code, opaque=opaque, flag=flag), serialize_type, reply)
            return
        for first, end, on_stored in stored:
            if not refusals or refusal_of(refusals, first, end) is None:
                try:
                    on_stored()
                except Exception:  # its messages are stored, and so are those of the others
                    log.exception("after storing for %(peer)s", {"peer": caller.remote_text})
        if hurried:
            _Answers(caller, hurried).write(appended, ResponseCode.SUCCESS, refusals)
        if waiting:
            answers = _Answers(caller, waiting)
            self._storing.report(appended, refusals, answers.write, wait=True, peer=caller)

    def discard(self) -> None:
        """Forget the group: nothing of it is stored or answered."""
        if self._drafts:
            self._waiting = []
            self._answer_now = []
            self._drafts = []
            self._stored = []
            self._decided = set()
            self._bytes = 0


class _Answers:
    """The answers to requests whose messages are stored."""

    __slots__ = ("_caller", "_tickets")

    def __init__(self, caller: Caller, tickets: Sequence[_Ticket]) -> None:
        self._caller = caller
        self._tickets = tickets

    def write(self, appended: Sequence[AppendResult], code: ResponseCode, refusals: Refusals) -> None:
        """Write one answer a request, in their order."""
        for code_of_request, opaque, flag, serialize_type, answer, first, end in self._tickets:
            error = refusal_of(refusals, first, end) if refusals else None
            reply = answer.reply(appended[first:end], code) if error is None else answer.refused(error)
            self._caller.answer(Header(code=code_of_request, opaque=opaque, flag=flag), serialize_type, reply)
