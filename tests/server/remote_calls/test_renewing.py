"""What a proxy knows of handles in front of brokers that do not."""

from __future__ import annotations

import pytest

from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.remote_calls.renewing import RenewingHeld
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.errors import CallInvalid
from tests.server.harness import NOW, Clock

HANDLE = f"0 {NOW} 60000 0 0 broker-a 0 0 100"


def test_a_handle_is_changed_once_unless_the_broker_refused_that() -> None:
    """Apache's broker takes any number of changes, and gives the message as often."""
    clock = Clock()
    held = RenewingHeld(lambda *_: None, Renewals(lambda: 0.0, clock), clock)
    assert held.begin_change(HANDLE, NOW).text == HANDLE
    with pytest.raises(CallInvalid) as refusal:
        held.begin_change(HANDLE, NOW)
    assert refusal.value.code is Code.INVALID_RECEIPT_HANDLE
    assert held.read(HANDLE, NOW).text == HANDLE  # it may be acknowledged, which has no effect
    held.undo_change(HANDLE)
    assert held.begin_change(HANDLE, NOW).text == HANDLE


def test_a_bounded_number_of_changes_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.remote_calls.renewing._MOST_SPENT", 2)
    clock = Clock()
    held = RenewingHeld(lambda *_: None, Renewals(lambda: 0.0, clock), clock)
    for number in range(3):
        held.begin_change(f"{HANDLE}{number}", NOW)
    assert held.begin_change(f"{HANDLE}0", NOW)
