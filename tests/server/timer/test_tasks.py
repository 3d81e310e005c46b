"""Waking a task, and the log lines of faults."""

from __future__ import annotations

import pytest
import trio

from rocketwire.server.timer.tasks import RETRY_SECONDS, JobFaults, WakeSignal
from rocketwire.store.errors import DiskNearlyFull
from tests.server.harness import mock_clock, settle


async def fail(faults: JobFaults, *errors: Exception | None) -> None:
    for error in errors:
        async with faults.log_and_pause():
            if error is not None:
                raise error


async def test_a_fault_is_logged_once_until_the_job_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    faults = JobFaults("the job")
    full, refused = DiskNearlyFull("full"), OSError("refused")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fail, faults, full, refused, full, None, refused)
        for _ in range(4):
            await settle()
            mock_clock().jump(RETRY_SECONDS)
    assert caplog.messages == ["the job: full", "the job: refused"]


async def test_other_errors_are_raised() -> None:
    with pytest.raises(ValueError, match="a bug"):
        await fail(JobFaults("the job"), ValueError("a bug"))


async def test_a_job_is_repeated_until_it_succeeds() -> None:
    outcomes: list[OSError | str] = [OSError("refused"), OSError("again"), "done"]

    def job() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    async def turn_on() -> None:
        for _ in range(2):
            await settle()
            mock_clock().jump(RETRY_SECONDS)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(turn_on)
        assert await JobFaults("the job").until_done(job) == "done"


async def test_earlier_signals_wake_once() -> None:
    bell = WakeSignal()
    bell.wake()
    bell.wake()
    await bell.wait()
    before = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bell.wait, 5)
        await settle()
        mock_clock().jump(5)
    assert trio.current_time() - before == 5


async def test_a_task_that_waits_is_woken() -> None:
    bell = WakeSignal()
    woken_at: list[float] = []

    async def wait() -> None:
        await bell.wait()
        woken_at.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await settle()
        assert woken_at == []
        bell.wake()
        await settle()
        assert woken_at == [trio.current_time()]
