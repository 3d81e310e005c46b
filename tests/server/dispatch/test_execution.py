"""The answer to a request that ended with an error."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import cast

from rocketwire.server.core.errors import GroupNotFound
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.caller import Caller
from rocketwire.server.dispatch.execution import refusal_reply
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header


def fail() -> None:
    raise GroupNotFound("G")


def refused() -> Reply:
    caller = cast("Caller", SimpleNamespace(remote_text="a client"))
    try:
        fail()
    except GroupNotFound as error:
        # The error's traceback references this frame, and this frame the reply.
        reply = refusal_reply(caller, Header(code=RequestCode.ACK_MESSAGE, opaque=1), error)
    return reply


def test_the_error_of_a_refused_request_is_freed() -> None:
    reply = refused()
    assert reply.error is not None
    error = weakref.ref(reply.error)
    del reply
    gc.collect()
    assert error() is None
