"""A proxy's memory of handles before brokers that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import trio
import trio.testing

from rocketwire.remoting.core.session import Response
from rocketwire.server.grpc.clients import GrpcClient
from rocketwire.server.grpc.consuming.handles import RENEWED_MARK
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.remote_calls.renewed_handles import RenewedHandles
from rocketwire.server.upstream.connecting import UpstreamConnectionError
from rocketwire.wire.grpc.codes import CallInvalid, Code
from tests.server.grpc.test_clients import Connection, InFlight
from tests.server.harness import NOW, Clock, mock_clock

HANDLE = f"0 {NOW} 60000 0 0 broker-a 0 0 100"


def test_a_handle_is_changed_once_unless_the_broker_refused_that() -> None:
    """Apache's broker accepts any number of changes, and delivers the message as often."""
    clock = Clock()
    held = RenewedHandles(lambda *_: None, Renewals(lambda: 0.0, clock), clock)
    assert held.begin_change("T", "G", HANDLE, NOW).text == HANDLE
    with pytest.raises(CallInvalid) as refusal:
        held.begin_change("T", "G", HANDLE, NOW)
    assert refusal.value.code is Code.INVALID_RECEIPT_HANDLE
    assert held.read(HANDLE, NOW).text == HANDLE  # it may be acknowledged, which has no effect
    held.undo_change("T", "G", HANDLE)
    assert held.begin_change("T", "G", HANDLE, NOW).text == HANDLE


def test_the_number_of_remembered_changes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.remote_calls.renewed_handles._MOST_SPENT", 2)
    clock = Clock()
    held = RenewedHandles(lambda *_: None, Renewals(lambda: 0.0, clock), clock)
    for number in range(3):
        held.begin_change("T", "G", f"{HANDLE}{number}", NOW)
    assert held.begin_change("T", "G", f"{HANDLE}0", NOW)


def test_a_handle_of_another_topic_or_group_is_not_spent() -> None:
    held = RenewedHandles(lambda *_: None, Renewals(lambda: 0.0, Clock()), Clock())
    held.begin_change("Own", "G", HANDLE, NOW)
    held.begin_change("T", "own", HANDLE, NOW)
    held.undo_change("T", "own", HANDLE)
    assert held.begin_change("T", "G", HANDLE, NOW).text == HANDLE
    held.undo_change("Own", "G", HANDLE)
    with pytest.raises(CallInvalid):
        held.begin_change("T", "G", HANDLE, NOW)


async def test_a_delivery_is_renewed_until_its_client_has_finished() -> None:
    renewed: list[str] = []
    clock = Clock()
    renewals = Renewals(lambda: 0.0, clock)
    held = RenewedHandles(lambda broker, *_: renewed.append(broker), renewals, clock)
    own, other = (GrpcClient(name, "", cast("Any", Connection()), cast("Any", InFlight())) for name in ("own", "other"))
    renewals.client_arrived(own.renewer)
    handle = f"{HANDLE}{RENEWED_MARK}"
    held.add(own, "T", "G", [handle])
    held.remove(other, handle)
    clock.now += 50_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(held.run)
        for done in (False, True):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock().jump(5)
            await trio.testing.wait_all_tasks_blocked()
            assert renewed == ["broker-a"]
            if not done:
                held.remove(own, handle)
        nursery.cancel_scope.cancel()


async def test_many_deliveries_are_renewed_some_at_a_time() -> None:
    """All at once they would hold up the event loop, and others who ask the same broker."""
    waiting: list[Callable[[Response | UpstreamConnectionError], None]] = []
    total = 0
    clock = Clock()
    renewals = Renewals(lambda: 0.0, clock)

    def change(_broker: str, _header: object, done: Callable[[Response | UpstreamConnectionError], None]) -> None:
        nonlocal total
        total += 1
        waiting.append(done)

    held = RenewedHandles(change, renewals, clock)
    own = GrpcClient("own", "", cast("Any", Connection()), cast("Any", InFlight()))
    renewals.client_arrived(own.renewer)
    of_other = f"{HANDLE}0{RENEWED_MARK}".replace("broker-a", "broker-b")
    held.add(own, "T", "G", [of_other, *(f"{HANDLE}{number}{RENEWED_MARK}" for number in range(1000))])
    clock.now += 50_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(held.run)
        await trio.testing.wait_all_tasks_blocked()
        mock_clock().jump(5)
        await trio.testing.wait_all_tasks_blocked()
        assert total == len(waiting) == 65
        mock_clock().jump(5)  # the next round begins no second time with them
        await trio.testing.wait_all_tasks_blocked()
        assert total == 65
        while waiting:
            waiting.pop()(UpstreamConnectionError("it does not answer"))
            await trio.testing.wait_all_tasks_blocked()
            assert len(waiting) <= 65
        assert total == 1001
        assert sum(1 for _ in held.take_out(own, clock.now)) == 1001
        nursery.cancel_scope.cancel()
