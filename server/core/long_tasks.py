"""Long requests: carried out in steps, so that no other connection waits longer than for one step.

A handler whose work may take long is an operation (`rocketwire.remoting.core.steps`), which returns the reply. It
yields None where the scheduler may switch to others, and `InThread` where one long call is needed: that runs in a
thread, one at a time, which releases the interpreter every millisecond. While nothing takes long, all steps run at once
and cost no more than a function.

Only one step is taken at a time, however many connections have long requests: then other tasks run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import trio

from rocketwire.remoting.core.steps import Operation, Step
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.server.core.threads import RunSync
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

T = TypeVar("T")

ReplyOperation: TypeAlias = Operation[Reply | None]
"""Its value is the reply; None: the request is answered in another way."""

LARGE_BODY_BYTES: Final = 4 * 1024
"""A larger body, in bytes, is parsed in a thread: this much takes 3 ms if it is nothing but empty objects."""
ROWS_PER_STEP: Final = 64
"""The most rows of a list that are encoded on the event loop; longer lists are encoded in a thread."""
STEP_SECONDS: Final = 0.002
_SHORT_SECONDS: Final = 0.0005
_REST: Final = 16
"""After a first step that was not short, no other first step is taken at once for this many times its duration:
otherwise requests behind many long ones, which arrived at one moment, would wait for all of those."""
SWITCH_SECONDS: Final = 0.001
"""How long a thread may keep the interpreter while the event loop waits for it: Python's default of 5 ms would add up
over the answers sent meanwhile."""
MAX_ANSWER_BYTES: Final = MAX_FRAME_LENGTH - 64 * 1024
"""The most bytes of a list's body: the rest of the frame is for the header."""
_KEY: Final = "answerBytes"


@dataclass(frozen=True, slots=True)
class InThread(Step):
    """Make a call in a thread: it shares nothing with the event loop that either side changes.

    Gives what it returns, or raises what it raises.
    """

    call: Callable[[], Any]


def parse_body(cls: type[T], body: memoryview, *, most_entries: int = MAX_JSON_ENTRIES) -> Operation[T]:
    """Parse a request's JSON body from a copy of it.

    Raises:
        BodyInvalid: see `decode_body`.
    """
    read = partial(decode_body, cls, bytes(body), most_entries=most_entries)
    return in_thread(read) if len(body) > LARGE_BODY_BYTES else as_one_step(read)


def as_one_step(function: Callable[[], T]) -> Operation[T]:
    """Call it as one step, whose duration counts for when the next first steps are taken."""
    yield from ()
    return function()


def in_thread(function: Callable[[], T]) -> Operation[T]:
    """Call it in a thread."""
    value: T = yield InThread(function)
    return value


def encode_answer(body: object, rows: int, least: int, *, strict: bool = False) -> Operation[bytes]:
    """Encode an answer's body.

    Args:
        body: A body dataclass that no longer changes.
        rows: The number of entries in its lists.
        least: The least number of bytes that it takes.
        strict: See `encode_body`.

    Raises:
        LimitExceeded: it does not fit in a frame.
    """
    check_answer(least)
    if rows <= ROWS_PER_STEP:
        return encode_body(body, strict=strict)
    data: bytes = yield InThread(partial(encode_body, body, strict=strict))
    check_answer(len(data))
    return data


def check_answer(least: int) -> None:
    """Raise LimitExceeded if an answer of at least so many bytes does not fit in a frame."""
    if least > MAX_ANSWER_BYTES:
        raise LimitExceeded(_KEY, MAX_ANSWER_BYTES)


def json_size_of_texts(texts: Iterable[str]) -> int:
    """The least number of bytes that texts take in JSON, with quotes and commas."""
    sizes = list(map(len, texts))
    return sum(sizes) + 3 * len(sizes)


def in_batches(rows: Collection[T]) -> Iterator[list[T]]:
    """The rows in lists of `ROWS_PER_STEP`."""
    remaining = iter(rows)
    while part := list(islice(remaining, ROWS_PER_STEP)):
        yield part


class PausedTask(NamedTuple):
    """Unfinished work; `step`, if any, is to be performed before it continues."""

    step: Step | None


class LongTaskScheduler:
    """Carries out the long requests of a server; without `run_sync`, calls for a thread run at once."""

    def __init__(self, run_sync: RunSync | None = None, *, now: Callable[[], float] = lambda: 0.0) -> None:
        self._run_sync = run_sync
        self._now = now
        self._turn = trio.Lock()
        self._thread = trio.Lock()
        self._rests_until = -math.inf

    def start(self, work: Operation[T]) -> T | PausedTask:
        """Take the first step; return the result of the work, or where it paused, for `finish`.

        It pauses before the first step if other first steps took long just now.

        Raises:
            Exception: what the work raises.
        """
        began = self._now()
        if began < self._rests_until:
            return PausedTask(None)
        try:
            return self._step(work, partial(work.send, None))
        finally:
            took = self._now() - began
            if took > _SHORT_SECONDS:
                self._rests_until = began + _REST * took

    async def finish(self, work: Operation[T], paused: PausedTask) -> T:
        """Finish the work that `start` started.

        Raises:
            Exception: what the work raises.
        """
        while True:
            resume = partial(work.send, None) if paused.step is None else await self._in_thread(work, paused.step)
            async with self._turn:
                found = self._step(work, resume)
            if not isinstance(found, PausedTask):
                return found
            paused = found
            await trio.lowlevel.checkpoint()

    def _step(self, work: Operation[T], resume: Callable[[], Step | None]) -> T | PausedTask:
        until = self._now() + STEP_SECONDS
        try:
            step = resume()
            while self._run_sync is None if step is not None else self._now() <= until:
                step = work.send(None) if step is None else _called(work, step)()
        except StopIteration as end:
            result: T = end.value
            return result
        return PausedTask(step)

    async def _in_thread(self, work: Operation[T], step: Step) -> Callable[[], Step | None]:
        """Make the call in a thread, one at a time: the event loop would compete with each of two threads."""
        async with self._thread:
            run_sync = self._run_sync or _run_inline
            resume: Callable[[], Step | None] = await run_sync(_called, work, step)
            return resume


async def _run_inline(sync_fn: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
    return sync_fn(*args)


def _called(work: Operation[T], step: Step) -> Callable[[], Step | None]:
    """Make the call; return how the work continues with its result or error."""
    if not isinstance(step, InThread):
        raise TypeError(f"this step needs another driver: {step}")
    try:
        value = step.call()
    except Exception as error:  # noqa: BLE001 - it is the work's
        return partial(work.throw, error)
    return partial(work.send, value)
