"""Endpoints for asyncio and trio: in a process, and within this one."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta
from pathlib import Path

import pytest
import trio

from rocketwire.remoting.errors import NotReached, Refused
from rocketwire.testing import ControlRefused, NotInProcess, NotStarted, endpoint

SECONDS = 60.0
both = pytest.mark.parametrize("in_process", [False, True])


@both
async def test_the_same_as_with_methods_that_block(in_process: bool) -> None:
    async with endpoint(topics=["T"], in_process=in_process) as ep:
        topic = await ep.topic(queues=2)
        group = await ep.group(retries=3)
        sent = await ep.send(topic, "one", keys=["K"], tags="t", properties={"a": "b"})
        await ep.send(topic, "later", delay=timedelta(days=2))
        (message,) = await ep.receive(topic, group=group)
        assert (message.body, message.keys, message.tags, message.message_id) == (b"one", ("K",), "t", sent.message_id)
        now = await ep.clock.now()
        assert await ep.clock.advance(days=2) >= now + 2 * 86_400_000
        (message,) = await ep.receive(topic, timeout=SECONDS, group=group)
        assert message.body == b"later"
        async with ep.faults.during(f"answer:2:on purpose,code=SEND_MESSAGE_V2,topic={topic}") as (fault,):
            with pytest.raises(Refused, match="on purpose"):
                await ep.send(topic, "x")
            assert [each.id for each in await ep.faults.list()] == [fault.id]
        (added,) = await ep.faults.add("drop,topic=none")
        await ep.faults.remove(added)
        await ep.faults.add("drop,topic=none")
        await ep.faults.clear()
        assert await ep.faults.list() == []
        assert [each.body for each in await ep.messages(topic)] == [b"one", b"later"]
        namesrv = ep.namesrv
        await ep.restart()
        assert ep.namesrv == namesrv
        assert len(await ep.messages(topic)) == 2
        assert (ep.pid is None, ep.log == "") == (in_process, in_process)
        store = ep.store
    assert not store.exists()


async def test_it_is_killed_and_starts_again() -> None:
    async with endpoint(topics=["T"]) as ep:
        await ep.send("T", "before")
        await ep.kill()
        with pytest.raises(NotReached):
            await ep.clock.now()
        await ep.restart()
        assert [each.body for each in await ep.receive("T", timeout=SECONDS)] == [b"before"]


def test_asyncio_has_the_same_but_no_server_within_the_process() -> None:
    async def main() -> None:
        async with endpoint(topics=["T"]) as ep:
            await ep.send("T", "x")
            assert [each.body for each in await ep.receive("T", timeout=SECONDS)] == [b"x"]
            assert await ep.clock.advance(days=2) > 0
            async with ep.faults.during("drop,topic=none") as (fault,):
                assert await ep.faults.list() == [fault]
        with pytest.raises((NotInProcess, BaseExceptionGroup), match=r"needs trio|unhandled"):
            async with endpoint(in_process=True):
                pass

    asyncio.run(main())


async def test_within_this_process_it_cannot_be_killed_and_leaves_the_collector_alone() -> None:
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    async with endpoint(in_process=True) as ep:
        with pytest.raises(NotInProcess):
            await ep.kill()
        with pytest.raises(ControlRefused, match="time only goes forward"):
            await ep.clock.advance(seconds=-1)
        assert gc.get_threshold() == thresholds
        assert gc.get_freeze_count() <= frozen  # what an earlier test has frozen may end


async def test_receive_waits_while_other_tasks_run() -> None:
    async with endpoint(topics=["T"], in_process=True) as ep:

        async def later() -> None:
            await trio.sleep(0.2)
            await ep.send("T", "x")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(later)
            assert [each.body for each in await ep.receive("T", timeout=SECONDS)] == [b"x"]
        with trio.move_on_after(0.1) as scope:
            await ep.receive("T", timeout=SECONDS)
        assert scope.cancelled_caught


async def test_why_it_does_not_start_within_this_process(tmp_path: Path) -> None:
    with pytest.raises((NotStarted, BaseExceptionGroup)) as wrong:
        async with endpoint(in_process=True, settings={"nonsense": 1}):
            pass
    assert "nonsense: unknown key" in str(_leaf(wrong.value))
    (tmp_path / "holiday.txt").touch()
    with pytest.raises((NotStarted, BaseExceptionGroup)) as foreign:
        async with endpoint(in_process=True, store=tmp_path):
            pass
    assert "cannot be used as a RocketMQ store" in str(_leaf(foreign.value))


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, NotStarted)
    return error
