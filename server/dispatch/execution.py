"""Carries out requests: calls a request's handler, and does what that returns.

Every request is answered unless it is one-way: an exception of the handler becomes the response code of
`server.core.errors`. What consecutive requests of one read append is appended as one group (`server.dispatch.group`).
Long requests are carried out in steps (`server.core.long_tasks`); later requests of the client wait until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.append import Append
from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import LongTaskScheduler, PausedTask, ReplyOperation
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import HandlerResult, Route
from rocketwire.server.dispatch.caller import Caller
from rocketwire.server.dispatch.group import AppendGroup
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.store.errors import StoreError
from rocketwire.wire.errors import EntriesTooMany, WireError
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


def is_expected(error: Exception) -> bool:
    """Whether an error describes what happened; any other is a bug."""
    return isinstance(error, ServerError | StoreError | WireError)


def refusal_reply(
    caller: Caller, header: Header, error: Exception, *, reveal_details: bool = True, ext: dict[str, str] | None = None
) -> Reply:
    """The answer to a request; a limit is counted, and a bug is logged.

    Args:
        caller: The connection.
        header: The request's.
        error: What happened.
        reveal_details: Whether the answer contains more of a bug than its type.
        ext: The answer's fields.
    """
    if isinstance(error, EntriesTooMany):
        error = LimitExceeded("bodyEntries", error.most)
    if isinstance(error, LimitExceeded):
        caller.limited(error)
    remark = str(error)
    if not is_expected(error):
        log.error("request %(code)d from %(peer)s", {"code": header.code, "peer": caller.remote_text}, exc_info=error)
        remark = f"{type(error).__name__}: {error}" if reveal_details else type(error).__name__
    # A frame of its traceback holds the reply: a cycle, which the collector does not find, as it tracks no replies.
    return Reply(code=response_code(error), remark=remark, ext=ext, error=error.with_traceback(None))


Routes: TypeAlias = Mapping[int, tuple[Route, Any]]
"""By request code: the route, and the services that its handler is given."""


class RequestExecution:
    """Carries out requests whose routes are known.

    Args:
        routes: The routes of frames: they define which fields a refusal has.
        storing: Stores what requests append; None: no handler appends.
        works: Carries out long requests.
        on_store_error: Called with errors of the store.
    """

    def __init__(
        self,
        routes: Routes,
        *,
        storing: MessageWriter | None,
        works: LongTaskScheduler,
        on_store_error: Callable[[Exception], object],
    ) -> None:
        self._routes = routes
        self._works = works
        self._group = None if storing is None else AppendGroup(storing)
        self._on_store_error = on_store_error

    def carry_out(self, caller: Caller, route: Route, services: Any, request: Request[Any]) -> None:  # noqa: ANN401 - any services
        """Call a request's handler and do what that returns."""
        try:
            made: HandlerResult = route.handler(services, request)
            while isinstance(made, Append):
                group = self._group
                assert group is not None  # noqa: S101 - an execution whose handlers append has been given `storing`
                if group.add(caller, request, made):
                    return
                group.finish(caller)  # the first decision has to be stored before the second
                made = route.handler(services, request)
            reply = self._reply(caller, request, made)
        except Exception as error:  # noqa: BLE001 - it is logged; a bug must not take the connection, nor the answer
            reply = self.refuse(caller, request.header, error)
        if reply is not None:
            caller.answer(request.header, request.serialize_type, reply)

    def finish_group(self, caller: Caller) -> None:
        """Append what the requests of this read append."""
        if self._group is not None:
            self._group.finish(caller)

    def discard_group(self) -> None:
        """Forget it: it points into the read buffer, which the next read overwrites."""
        if self._group is not None:
            self._group.discard()

    def refuse(self, caller: Caller, header: Header, error: Exception, *, reveal_details: bool = True) -> Reply:
        """The answer with an error; with `reveal_details` it also describes a bug."""
        if is_expected(error):
            self._on_store_error(error)
        return refusal_reply(
            caller,
            header,
            error,
            reveal_details=reveal_details,
            ext=self.empty_fields(header.code) if reveal_details else None,
        )

    def empty_fields(self, code: int) -> dict[str, str] | None:
        """The response fields of a refused request: Apache writes the response header without fields."""
        found = self._routes.get(code)
        return None if found is None or found[0].response is None else {}

    def take_answer(self, caller: Caller, header: Header, size: int, work: Operation[None]) -> None:
        """Finish the long work of a client's answer of `size` bytes."""

        async def go_on(paused: PausedTask) -> None:
            try:
                await self._works.finish(work, paused)
            except Exception as error:  # noqa: BLE001 - it is logged; a bug must not end the connection
                self.refuse(caller, header, error)

        try:
            paused = self._works.start(work)
        except Exception as error:  # noqa: BLE001 - as above
            self.refuse(caller, header, error)
        else:
            if paused is not None:
                caller.run_long_request(partial(go_on, paused), size)

    def _reply(self, caller: Caller, request: Request[Any], made: Reply | ReplyOperation | None) -> Reply | None:
        """The reply to write now. None: it is written, or comes later."""
        if made is None or isinstance(made, Reply):
            return made
        begun = self._works.start(made)
        if not isinstance(begun, PausedTask):
            return begun
        task = partial(self._go_on, caller, request.header, request.serialize_type, made, begun)
        caller.run_long_request(task, len(request.body))
        return None

    async def _go_on(
        self, caller: Caller, header: Header, serialize_type: int, work: ReplyOperation, paused: PausedTask
    ) -> None:
        try:
            reply: Reply | None = await self._works.finish(work, paused)
        except Exception as error:  # noqa: BLE001 - as above
            reply = self.refuse(caller, header, error)
        if reply is not None:
            caller.answer(header, serialize_type, reply)
