"""Long requests: carried out in steps, so that no other connection waits longer than for one of them.

A handler whose work may be long is a generator. It yields None where others may have their turn, and what `apart` makes
where a function of the protocol has to go through much at once: that is done in a thread, one at a time, which gives
the interpreter back every millisecond. What the generator returns is the reply. As long as nothing takes long, it all
happens at once and costs no more than a function.

One step is taken at a time, however many connections have asked for much: then the others have their turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.server.core.threads import RunSync
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.codes import MAX_FRAME_LENGTH
from rocketwire.wire.json_bounds import MOST_ENTRIES

T = TypeVar("T")

Apart: TypeAlias = Callable[[], Any]
"""What is to be called in a thread: it shares nothing with the event loop that either changes."""
Steps: TypeAlias = Generator[Apart | None, Any, T]
"""Work that gives a value in the end."""
Work: TypeAlias = Steps[Reply]

LARGE: Final = 4 * 1024
"""Bytes of a body above which it is read in a thread: so much takes 3 ms if it is nothing but empty objects."""
ROWS: Final = 64
"""So many rows of a list are made at once; a longer one is written in a thread."""
STEP_SECONDS: Final = 0.002
_SHORT_SECONDS: Final = 0.0005
_REST: Final = 16
"""For so many times as long as a first step took, no other is taken at once, unless that was short: with many
connections that ask for much at one moment, whoever comes behind them would wait for all of those."""
SWITCH_SECONDS: Final = 0.001
"""How long a thread may keep the interpreter while the event loop waits for it: Python's own 5 ms for each answer that
is sent meanwhile would add up."""
LONGEST_ANSWER: Final = MAX_FRAME_LENGTH - 64 * 1024
"""Bytes of a body that a list fits in: the rest is for the header."""
_KEY: Final = "answerBytes"


def body_of(cls: type[T], body: memoryview, *, most_entries: int = MOST_ENTRIES) -> Steps[T]:
    """Read a request's JSON body, which need not stay where it is.

    Raises:
        BodyInvalid: see `decode_body`.
    """
    read = partial(decode_body, cls, bytes(body), most_entries=most_entries)
    return apart(read) if len(body) > LARGE else at_turn(read)


def at_turn(function: Callable[[], T]) -> Steps[T]:
    """Call it as one step: how long that takes decides when others' first steps are taken."""
    yield from ()
    return function()


def apart(function: Callable[[], T]) -> Steps[T]:
    """Call it in a thread."""
    value: T = yield function
    return value


def written(body: object, rows: int, least: int, *, strict: bool = False) -> Steps[bytes]:
    """Write an answer's body.

    Args:
        body: A body dataclass that nobody changes any more.
        rows: How many entries its lists have.
        least: Bytes that it takes at least.
        strict: See `encode_body`.

    Raises:
        LimitExceeded: no frame can hold so much.
    """
    check_answer(least)
    if rows <= ROWS:
        return encode_body(body, strict=strict)
    data: bytes = yield partial(encode_body, body, strict=strict)
    check_answer(len(data))
    return data


def check_answer(least: int) -> None:
    """Raise LimitExceeded when an answer of so many bytes, or more, is one that no frame can hold."""
    if least > LONGEST_ANSWER:
        raise LimitExceeded(_KEY, LONGEST_ANSWER)


def texts_size(texts: Iterable[str]) -> int:
    """Bytes that texts take in JSON at least, with quotes and commas."""
    sizes = list(map(len, texts))
    return sum(sizes) + 3 * len(sizes)


def in_parts(rows: Collection[T]) -> Iterator[list[T]]:
    """The rows, `ROWS` at a time."""
    left = iter(rows)
    while part := list(islice(left, ROWS)):
        yield part


class Paused(NamedTuple):
    """Work that is not done; `asked` is to be called in a thread before it goes on, if it is there."""

    asked: Apart | None


class Works:
    """Carries out the long requests of a server; without `run_sync`, what belongs in a thread is done at once."""

    def __init__(self, run_sync: RunSync | None = None, *, now: Callable[[], float] = lambda: 0.0) -> None:
        self._run_sync = run_sync
        self._now = now
        self._turn = trio.Lock()
        self._thread = trio.Lock()
        self._rests_until = -math.inf

    def begin(self, work: Steps[T]) -> T | Paused:
        """Take the first step: give what comes of the work, or where it paused, for `go_on`.

        It pauses before that when first steps took long just now.

        Raises:
            Exception: what the work raises.
        """
        began = self._now()
        if began < self._rests_until:
            return Paused(None)
        try:
            return self._step(work, partial(work.send, None))
        finally:
            took = self._now() - began
            if took > _SHORT_SECONDS:
                self._rests_until = began + _REST * took

    async def go_on(self, work: Steps[T], paused: Paused) -> T:
        """Do the rest of what `begin` began.

        Raises:
            Exception: what the work raises.
        """
        while True:
            resume = partial(work.send, None) if paused.asked is None else await self._in_thread(work, paused.asked)
            async with self._turn:
                found = self._step(work, resume)
            if not isinstance(found, Paused):
                return found
            paused = found
            await trio.lowlevel.checkpoint()

    def _step(self, work: Steps[T], resume: Callable[[], Apart | None]) -> T | Paused:
        until = self._now() + STEP_SECONDS
        try:
            asked = resume()
            while self._run_sync is None if asked is not None else self._now() <= until:
                asked = work.send(None) if asked is None else _called(work, asked)()
        except StopIteration as end:
            result: T = end.value
            return result
        return Paused(asked)

    async def _in_thread(self, work: Steps[T], asked: Apart) -> Callable[[], Apart | None]:
        """Call it, once no other call is under way: of two threads the event loop would wait for both."""
        async with self._thread:
            run_sync = self._run_sync or _run_inline
            resume: Callable[[], Apart | None] = await run_sync(_called, work, asked)
            return resume


async def _run_inline(sync_fn: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
    return sync_fn(*args)


def _called(work: Steps[T], asked: Apart) -> Callable[[], Apart | None]:
    """Call it; give how the work takes what came of it."""
    try:
        value = asked()
    except Exception as error:  # noqa: BLE001 - it is the work's
        return partial(work.throw, error)
    return partial(work.send, value)
