"""Requests to one server whose answers are waited for: one, or several that leave with one write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import trio

from rocketwire.remoting.core.session import ClientRequest, Response
from rocketwire.server.upstream.broker_connection import BrokerConnection
from rocketwire.server.upstream.connecting import CONNECT_SECONDS, UpstreamUnreachable


async def ask(line: BrokerConnection, question: ClientRequest, *, seconds: float = CONNECT_SECONDS) -> Response:
    """The answer to a request.

    Raises:
        UpstreamUnreachable: the connection ended, or there was no answer within `seconds`.
        WireError: the request does not fit in a frame.
    """
    (answer,) = await ask_together(line, [question], seconds=seconds)
    if isinstance(answer, UpstreamUnreachable):
        raise answer
    return answer


async def ask_together(
    line: BrokerConnection, questions: Sequence[ClientRequest], *, seconds: float
) -> list[Response | UpstreamUnreachable]:
    """The answer to each question, or why there is none within `seconds`, in their order.

    Raises:
        WireError: one does not fit in a frame.
    """
    here = trio.Event()
    found: list[Response | UpstreamUnreachable] = []

    def on_answers(answers: list[Response | UpstreamUnreachable]) -> None:
        found.extend(answers)
        here.set()

    opaques = ask_then(line, questions, seconds=seconds, on_answers=on_answers)
    try:
        await here.wait()
    finally:
        for opaque in opaques:
            line.forget(opaque)
    return found


def ask_then(
    line: BrokerConnection,
    questions: Sequence[ClientRequest],
    *,
    seconds: float,
    on_answers: Callable[[list[Response | UpstreamUnreachable]], None],
) -> list[int]:
    """Ask without a task that waits.

    Args:
        line: The connection to the server.
        questions: The requests.
        seconds: How long each answer is waited for.
        on_answers: Gets what `ask_together` returns, perhaps before this returns.

    Returns:
        What `BrokerConnection.forget` takes, of each question.

    Raises:
        WireError: one does not fit in a frame; none is waited for.
    """
    found: dict[int, Response | UpstreamUnreachable] = {}
    opaques: list[int] = []

    def done(place: int, answer: Response | UpstreamUnreachable) -> None:
        found[place] = answer
        if len(found) == len(questions):
            on_answers([found[place] for place in range(len(questions))])

    try:
        for place, question in enumerate(questions):
            opaques.append(line.send(question, seconds=seconds, done=partial(done, place)))
    except BaseException:
        for opaque in opaques:
            line.forget(opaque)
        raise
    line.flush()
    return opaques
