"""Long requests in steps: other requests are served between, and slow calls run in a thread."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import pytest
import trio

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import (
    LARGE_BODY_BYTES,
    MAX_ANSWER_BYTES,
    ROWS_PER_STEP,
    InThread,
    LongTaskScheduler,
    PausedTask,
    check_answer,
    encode_answer,
    in_batches,
    json_size_of_texts,
    parse_body,
)
from rocketwire.server.core.threads import RunSync
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import LockBatchRequestBody
from rocketwire.wire.bodies.route import TopicList
from rocketwire.wire.errors import BodyInvalid
from tests.server.harness import done, run_inline

T = TypeVar("T")


async def carry_out(works: LongTaskScheduler, work: Operation[T], found: list[T]) -> None:
    """Run work that pauses."""
    paused = works.start(work)
    assert isinstance(paused, PausedTask)
    found.append(await works.finish(work, paused))


async def test_a_step_ends_when_its_time_is_over_and_other_requests_follow() -> None:
    ticks = count()
    works = LongTaskScheduler(now=lambda: next(ticks) * 0.0015)
    order: list[str] = []

    def noted(name: str) -> Operation[str]:
        for _ in range(8):
            order.append(name)
            yield None
        return name

    found: list[str] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(carry_out, works, noted("a"), found)
        nursery.start_soon(carry_out, works, noted("b"), found)
    assert sorted(found) == ["a", "b"]
    assert order not in (["a"] * 8 + ["b"] * 8, ["b"] * 8 + ["a"] * 8)


async def test_after_a_long_first_step_others_do_not_begin_at_once() -> None:
    time = 0.0
    works = LongTaskScheduler(now=lambda: time)

    def taking(seconds: float) -> Operation[float]:
        nonlocal time
        yield from ()
        time += seconds
        return seconds

    assert [works.start(taking(0.0001)) for _ in range(2)] == [0.0001] * 2
    assert works.start(taking(0.01)) == 0.01
    work = taking(0.0002)
    paused = works.start(work)
    assert isinstance(paused, PausedTask)
    assert await works.finish(work, paused) == 0.0002
    time += 1
    assert works.start(taking(0.0001)) == 0.0001


async def test_calls_in_threads_run_one_after_the_other() -> None:
    now_there = most = 0

    async def in_thread(sync_fn: Callable[..., Any], *args: Any) -> Any:
        nonlocal now_there, most
        now_there += 1
        most = max(most, now_there)
        await trio.lowlevel.checkpoint()
        now_there -= 1
        return sync_fn(*args)

    works = LongTaskScheduler(in_thread)

    def call_in_thread(number: int) -> Operation[int]:
        value: int = yield InThread(lambda: number + 1)
        return value

    found: list[int] = []

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(carry_out, works, call_in_thread(number), found)
    assert (sorted(found), most) == ([1, 2, 3], 1)


@pytest.mark.parametrize("run_sync", [None, run_inline])
async def test_an_error_of_a_call_is_raised_where_it_was_yielded(
    run_sync: RunSync | None,
) -> None:
    works = LongTaskScheduler(run_sync)

    def failing() -> int:
        raise BodyInvalid("no")

    def catching() -> Operation[str]:
        try:
            yield InThread(failing)
        except BodyInvalid as error:
            return f"caught {error}"
        return "not caught"

    work = catching()
    found = works.start(work)
    assert (await works.finish(work, found) if isinstance(found, PausedTask) else found) == "caught no"


def body(size: int) -> bytes:
    return b'{"clientId":"' + b"x" * (size - 15) + b'"}'


async def test_a_large_body_is_read_in_a_thread() -> None:
    works = LongTaskScheduler(run_inline)
    small, large = body(LARGE_BODY_BYTES), body(LARGE_BODY_BYTES + 1)
    read = works.start(parse_body(LockBatchRequestBody, memoryview(small)))
    assert read == decode_body(LockBatchRequestBody, small)
    buffer = bytearray(large)
    work = parse_body(LockBatchRequestBody, memoryview(buffer))
    paused = works.start(work)
    assert isinstance(paused, PausedTask)
    buffer[:] = bytes(len(buffer))  # the next read reuses this memory
    assert await works.finish(work, paused) == decode_body(LockBatchRequestBody, large)


async def test_a_long_list_is_written_in_a_thread() -> None:
    works = LongTaskScheduler(run_inline)
    short, long = (TopicList(topic_list=("T",) * rows) for rows in (ROWS_PER_STEP, ROWS_PER_STEP + 1))
    assert works.start(encode_answer(short, ROWS_PER_STEP, 0)) == encode_body(short)
    work = encode_answer(long, ROWS_PER_STEP + 1, 0)
    paused = works.start(work)
    assert isinstance(paused, PausedTask)
    assert await works.finish(work, paused) == encode_body(long)


async def test_an_answer_that_no_frame_can_hold_is_not_encoded() -> None:
    check_answer(MAX_ANSWER_BYTES)
    with pytest.raises(LimitExceeded, match=rf"answerBytes={MAX_ANSWER_BYTES}$"):
        check_answer(MAX_ANSWER_BYTES + 1)
    with pytest.raises(LimitExceeded):
        done(encode_answer(object(), 1, MAX_ANSWER_BYTES + 1))  # nothing that could be written


async def test_an_answer_that_proves_too_long_is_not_sent() -> None:
    with pytest.raises(LimitExceeded, match="answerBytes"):
        done(
            encode_answer(
                TopicList(topic_list=("\x01" * (MAX_ANSWER_BYTES // 6),) * 1 + ("",) * ROWS_PER_STEP),
                ROWS_PER_STEP + 1,
                0,
            )
        )


def test_rows_are_written_in_parts() -> None:
    assert [len(part) for part in in_batches(range(2 * ROWS_PER_STEP + 1))] == [ROWS_PER_STEP, ROWS_PER_STEP, 1]
    assert list(in_batches([])) == []


def test_the_length_of_texts_is_estimated() -> None:
    assert json_size_of_texts(["", "ab"]) == len('"","ab",')
