"""A handle may change the invisible time once, after a restart or a kill too; by gRPC: test_receiving."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.pop import ChangeInvisibleTimeRequestHeader
from tests.server.grpc.sdk import create_group
from tests.server.harness import NOW, Client, Clock, Server, serving
from tests.server.pop.requests import Got, ack, ack_all, change, pop

NO_MESSAGE = 208


@pytest.fixture
async def filled(server: Server) -> Client:
    """A broker with a message in T."""
    return await fill(server)


async def fill(server: Server) -> Client:
    broker = server.broker()
    await broker.create_topic("T")
    await create_group(broker, "G")
    await broker.send("T", b"x")
    return broker


async def change_code(broker: Client, got: Got, invisible_time: int = 2000, **changes: Any) -> int:
    return int((await change(broker, got, invisible_time, **changes))[0].header.code)


async def pops(server: Server, seconds: float) -> list[tuple[bytes, int]]:
    """The messages of some seconds, each with its number of tries."""
    found: list[tuple[bytes, int]] = []
    broker = server.broker()
    for _ in range(round(seconds)):
        await server.pass_time(1, step=0.5)
        got = (await pop(broker, invisible_time=600_000)).messages
        found += [(each.body, each.message.reconsume_times) for each in got]
    return found


async def test_each_handle_of_a_chain_may_be_used_once(server: Server, filled: Client) -> None:
    (got,) = (await pop(filled)).messages
    for _ in range(5):
        frame, newer = await change(filled, got, 3000)
        assert frame.header.code == 0
        assert await change_code(filled, got) == NO_MESSAGE
        got = newer
    assert (await ack(filled, got)).header.code == 0
    assert await pops(server, 15) == []


async def test_equal_changes_of_one_read_count_once(server: Server, filled: Client) -> None:
    (got,) = (await pop(filled)).messages
    fields = ChangeInvisibleTimeRequestHeader(
        consumer_group="G", topic="T", queue_id=0, extra_info=got.handle.text, offset=0, invisible_time=2000
    )
    request = filled.frame(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, encode_ext(fields))
    again = filled.frame(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, encode_ext(fields))
    await filled.write(request + again)
    answers: list[Frame] = [await filled.receive(), await filled.receive()]
    assert [each.header.code for each in answers] == [0, NO_MESSAGE]
    assert await pops(server, 15) == [(b"x", 1)]


async def test_an_acknowledgement_with_a_changed_handle_has_no_effect(server: Server, filled: Client) -> None:
    """As with Apache 5.5.0: the answer is success."""
    (got,) = (await pop(filled)).messages
    assert await change_code(filled, got) == 0
    assert (await ack(filled, got)).header.code == 0
    assert (await ack_all(filled, got)).header.code == 0
    assert await pops(server, 15) == [(b"x", 1)]


@pytest.mark.parametrize("together", [False, True])
async def test_an_acknowledged_message_is_not_changed(server: Server, filled: Client, *, together: bool) -> None:
    (got,) = (await pop(filled)).messages
    assert (await (ack_all if together else ack)(filled, got)).header.code == 0
    assert await change_code(filled, got) == NO_MESSAGE
    assert await pops(server, 15) == []


async def test_other_messages_of_an_acknowledged_check_point_are_changed(server: Server, filled: Client) -> None:
    for body in (b"y", b"z"):
        await filled.send("T", body)
    x, y, z = (await pop(filled)).messages
    assert (await ack_all(filled, x, z)).header.code == 0
    assert [await change_code(filled, each) for each in (x, y, z)] == [NO_MESSAGE, 0, NO_MESSAGE]
    assert await pops(server, 15) == [(b"y", 1)]


async def test_a_delivery_whose_time_is_over_is_not_changed(server: Server, filled: Client) -> None:
    (got,) = (await pop(filled)).messages
    await server.pass_time(10, step=1)
    assert await change_code(filled, got) == NO_MESSAGE
    assert await pops(server, 15) == [(b"x", 1)]


@pytest.mark.parametrize(
    "changes",
    [{"start_offset": 1}, {"pop_time": NOW - 1}, {"pop_time": NOW + 1}, {"broker": "broker-b"}, {"broker": "../x"}],
)
async def test_an_invented_handle_is_not_changed(server: Server, filled: Client, changes: dict[str, Any]) -> None:
    (got,) = (await pop(filled)).messages
    made_up = got._replace(handle=got.handle._replace(**changes))
    assert await change_code(filled, made_up) == NO_MESSAGE
    assert await change_code(filled, got) == 0
    assert await pops(server, 15) == [(b"x", 1)]


@pytest.mark.parametrize("invisible_time", [1, 500, 1000, 1001])
async def test_a_message_that_is_visible_again_within_a_second_is_changed(
    server: Server, filled: Client, invisible_time: int
) -> None:
    (got,) = (await pop(filled, invisible_time=invisible_time)).messages
    frame, changed = await change(filled, got, invisible_time)
    assert frame.header.code == 0
    assert await change_code(filled, got) == NO_MESSAGE
    assert await change_code(filled, changed, 2000) == 0
    assert await pops(server, 15) == [(b"x", 1)]


async def test_in_order_a_handle_may_be_used_again(server: Server, filled: Client) -> None:
    """A change only sets the time until which the batch is invisible: the message is not copied."""
    (got,) = (await pop(filled, order=True)).messages
    assert [await change_code(filled, got) for _ in range(3)] == [0, 0, 0]
    await server.pass_time(3, step=0.5)
    (again,) = (await pop(filled, order=True)).messages
    assert (await ack(filled, again)).header.code == 0
    await server.pass_time(12, step=1)
    assert (await pop(filled, order=True)).messages == []


@pytest.mark.parametrize("killed", [False, True])
async def test_after_a_restart_or_a_kill_changed_handles_are_known(tmp_path: Path, *, killed: bool) -> None:
    clock = Clock()
    async with serving(tmp_path / "first", clock=clock) as server:
        broker = await fill(server)
        await broker.send("T", b"y")
        x, y = (await pop(broker)).messages
        assert await change_code(broker, x, 5000) == 0
        if killed:
            shutil.copytree(tmp_path / "first", tmp_path / "second")
    async with serving(tmp_path / ("second" if killed else "first"), clock=clock) as server:
        broker = server.broker()
        assert [await change_code(broker, each, 3000) for each in (x, y, y)] == [NO_MESSAGE, 0, NO_MESSAGE]
        assert sorted(await pops(server, 15)) == [(b"x", 1), (b"y", 1)]


async def test_without_an_index_the_latest_changes_are_known(tmp_path: Path) -> None:
    async with serving(tmp_path, message_index_enable=False) as server:
        broker = await fill(server)
        (got,) = (await pop(broker)).messages
        assert [await change_code(broker, got) for _ in range(3)] == [0, NO_MESSAGE, NO_MESSAGE]
        assert await pops(server, 15) == [(b"x", 1)]
