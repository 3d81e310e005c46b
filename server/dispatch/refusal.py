"""The answer to a request that an error ended, whoever serves it."""

from __future__ import annotations

import logging

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.caller import Caller
from rocketwire.store.errors import StoreError
from rocketwire.wire.errors import EntriesTooMany, WireError
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


def is_expected(error: Exception) -> bool:
    """Whether an error says what happened; any other is a bug."""
    return isinstance(error, ServerError | StoreError | WireError)


def refusal_reply(
    caller: Caller, header: Header, error: Exception, *, reveal_details: bool = True, ext: dict[str, str] | None = None
) -> Reply:
    """The answer to a request; a limit is counted, and a bug is logged.

    Args:
        caller: The connection.
        header: The request's.
        error: What happened.
        reveal_details: Whether the answer says more of a bug than its type.
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
