from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from rocketwire.server.throttle.backlog import GroupBacklogs
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Client, Server, consumer, send_ext, subscription


async def codes(client: Client, count: int, topic: str = "T") -> list[int]:
    return [(await client.send(topic)).header.code for _ in range(count)]


async def see_consumer(client: Client) -> None:
    await client.heartbeat("me", consumer("G", subscription("T")))


async def test_sends_are_refused_while_a_group_has_too_large_a_backlog(server: Server, broker: Client) -> None:
    await see_consumer(broker)
    await broker.create_topic("U")
    await broker.set_config(groupBacklogThreshold=10)
    assert await codes(broker, 30) == [0] * 30
    await server.pass_time(1)
    assert await codes(broker, 1) == [0], "it has no consumer"
    await broker.commit(21)
    await broker.commit(0, queue_id=7)
    await server.pass_time(1)
    assert await codes(broker, 1) == [0], "10 behind"
    await server.pass_time(1)
    assert await codes(broker, 3) == [ResponseCode.FLOW_CONTROL] * 3
    assert await codes(broker, 3, "U") == [0] * 3
    answer = await broker.request(RequestCode.SEND_BATCH_MESSAGE, send_ext("T", batch=True), b"")
    assert answer.header.code == ResponseCode.FLOW_CONTROL
    await broker.commit(22)
    await server.pass_time(1)
    assert await codes(broker, 3) == [0] * 3
    await server.pass_time(1)
    assert await codes(broker, 1) == [ResponseCode.FLOW_CONTROL]
    await broker.set_config(groupBacklogThreshold=0)
    await server.pass_time(1)
    assert await codes(broker, 1) == [0]


async def test_an_invented_group_refuses_nothing(server: Server, broker: Client) -> None:
    """Any client may commit offsets for a name; the group counts when it has had a consumer."""
    await broker.set_config(groupBacklogThreshold=3)
    assert await codes(broker, 9) == [0] * 9
    await broker.commit(0)
    await server.pass_time(1)
    assert await codes(broker, 1) == [0]
    await see_consumer(broker)
    await server.pass_time(1)
    assert await codes(broker, 1) == [ResponseCode.FLOW_CONTROL]
    await broker.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "G"})
    await server.pass_time(1)
    assert await codes(broker, 1) == [0]


class Slices:
    """A table of offsets that changes while it is read."""

    def __init__(self, folder: Path) -> None:
        self.table = OffsetTable.open(folder / "offsets.json")
        self.far: set[str] = set()
        self.pauses = 0
        config: Any = SimpleNamespace(current=SimpleNamespace(group_backlog_threshold=10))
        ends = {("T", 0): 100, ("T", 4999): 100}
        store: Any = SimpleNamespace(max_offset=lambda *queue: ends.get(queue, 0), min_offset=lambda *_: 0)
        groups: Any = {"G": object()}
        throttle: Any = SimpleNamespace(backlogged=self.far.update)
        self.backlog = GroupBacklogs(config, self.table, groups, store, throttle)

    async def read_backlog(self) -> None:
        """Read once, and change the table in each pause."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._change)
            await self.backlog._look()
            nursery.cancel_scope.cancel()

    async def _change(self) -> None:
        while True:
            await trio.sleep(0.002)
            self.pauses += 1
            self.table.commit(f"new{self.pauses}", "T", 0, 1)
            self.table.commit("G", "T", 10_000 + self.pauses, 1)
            self.table.remove(f"g{self.pauses + 2000}", "T")


@pytest.mark.parametrize("many", ["groups", "queues"])
@pytest.mark.parametrize("committed", [100, 0])
async def test_many_groups_and_many_queues_of_a_group_are_read_in_slices(
    tmp_path: Path, committed: int, many: str, autojump_clock: trio.testing.MockClock
) -> None:
    slices = Slices(tmp_path)
    for number in range(5000):
        if many == "groups":
            slices.table.commit(f"g{number}", "T", 0, 0)
        else:
            slices.table.commit("G", "T", number, committed)
    slices.table.commit("G", "T", 0, committed)
    await slices.read_backlog()
    assert slices.far == (set() if committed else {"T"})
    assert slices.pauses >= 9


async def test_many_groups_of_a_broker_are_read_in_slices(server: Server, broker: Client) -> None:
    await see_consumer(broker)
    for number in range(20):
        await broker.commit(0, f"T{number}")
    assert await codes(broker, 5) == [0] * 5
    await broker.commit(1)
    await broker.set_config(groupBacklogThreshold=3)
    await server.pass_time(1)
    assert await codes(broker, 1) == [ResponseCode.FLOW_CONTROL]
