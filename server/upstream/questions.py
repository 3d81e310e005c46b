"""Requests to one server that leave with one write; none waits for the answer to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import trio

from rocketwire.server.upstream.line import LANGUAGE, Answer, Line, NotReached
from rocketwire.wire.codes import VERSION_4_9_7


class Question(NamedTuple):
    """A request."""

    code: int
    ext: Mapping[str, str]
    body: bytes = b""
    language: str = LANGUAGE
    version: int = VERSION_4_9_7


async def ask_together(line: Line, questions: Sequence[Question], *, seconds: float) -> list[Answer | NotReached]:
    """The answer to each question, or why there is none within `seconds`, in their order.

    Raises:
        WireError: one does not fit in a frame.
    """
    here = trio.Event()
    found: dict[int, Answer | NotReached] = {}
    opaques: list[int] = []

    def done(place: int, answer: Answer | NotReached) -> None:
        found[place] = answer
        if len(found) == len(questions):
            here.set()

    try:
        for place, (code, ext, body, language, version) in enumerate(questions):
            opaques.append(
                line.send(
                    code, ext, body, seconds=seconds, done=partial(done, place), language=language, version=version
                )
            )
        line.flush()
        await here.wait()
    finally:
        for opaque in opaques:
            line.forget(opaque)
    return [found[place] for place in range(len(questions))]
