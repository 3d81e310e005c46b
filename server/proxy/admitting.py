"""Guards in front of what is passed on: quotas, accounts, whether anything may be changed."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.guard import Guard
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.header import Header

log = logging.getLogger(__name__)


def admitted(guards: Iterable[Guard], session: Session, header: Header, frame: RawFrame) -> bool:
    """Whether all active guards admit a request; a refused one is answered."""
    try:
        for guard in guards:
            if guard.active:
                guard.admit(session, header, frame.body)
    except Exception as error:  # an undecided request is refused
        if isinstance(error, LimitExceeded):
            session.limited(error)
        elif not isinstance(error, ServerError | WireError):
            log.exception("request %(code)d is refused", {"code": header.code})
        session.answer(header, frame.serialize_type, Reply(code=response_code(error), remark=str(error), ext={}))
        return False
    return True
