"""Requests to one server whose answers are waited for: one, or several that leave with one write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import trio

from rocketwire.server.upstream.broker_connection import LANGUAGE, BrokerAnswer, BrokerConnection
from rocketwire.server.upstream.connecting import CONNECT_SECONDS, UpstreamUnreachable
from rocketwire.wire.facts.codes import VERSION_4_9_7
from rocketwire.wire.frame import Buffer


class UpstreamRequest(NamedTuple):
    """A request."""

    code: int
    ext: Mapping[str, str]
    body: Buffer = b""
    language: str = LANGUAGE
    version: int = VERSION_4_9_7
    remark: str | None = None


async def ask(line: BrokerConnection, question: UpstreamRequest, *, seconds: float = CONNECT_SECONDS) -> BrokerAnswer:
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
    line: BrokerConnection, questions: Sequence[UpstreamRequest], *, seconds: float
) -> list[BrokerAnswer | UpstreamUnreachable]:
    """The answer to each question, or why there is none within `seconds`, in their order.

    Raises:
        WireError: one does not fit in a frame.
    """
    here = trio.Event()
    found: list[BrokerAnswer | UpstreamUnreachable] = []

    def on_answers(answers: list[BrokerAnswer | UpstreamUnreachable]) -> None:
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
    questions: Sequence[UpstreamRequest],
    *,
    seconds: float,
    on_answers: Callable[[list[BrokerAnswer | UpstreamUnreachable]], None],
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
    found: dict[int, BrokerAnswer | UpstreamUnreachable] = {}
    opaques: list[int] = []

    def done(place: int, answer: BrokerAnswer | UpstreamUnreachable) -> None:
        found[place] = answer
        if len(found) == len(questions):
            on_answers([found[place] for place in range(len(questions))])

    try:
        for place, (code, ext, body, language, version, remark) in enumerate(questions):
            opaques.append(
                line.send(
                    code,
                    ext,
                    body,
                    seconds=seconds,
                    done=partial(done, place),
                    language=language,
                    version=version,
                    remark=remark,
                )
            )
    except BaseException:
        for opaque in opaques:
            line.forget(opaque)
        raise
    line.flush()
    return opaques
