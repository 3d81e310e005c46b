from __future__ import annotations

import pytest

from rocketwire.server.net.admission import connection_rate
from rocketwire.server.net.admission.connection_rate import ConnectionRate


def test_the_connections_of_a_second_begin_at_once_and_further_ones_at_the_rate() -> None:
    rate = ConnectionRate(lambda: 4)
    for _ in range(4):
        assert rate.allowed_at("a") <= 100.0
        rate.count("a", 100.0)
    assert rate.allowed_at("a") == 100.0
    rate.count("a", 100.0)
    assert rate.allowed_at("a") == 100.25
    assert rate.allowed_at("b") <= 100.0  # another address has a rate of its own


def test_addresses_that_are_quiet_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_rate, "_CLEANED_AT", 3)
    rate = ConnectionRate(lambda: 1)
    for number in range(3):
        rate.count(f"{number}", 10.0)
    assert len(rate._paid_until) == 3
    rate.count("later", 20.0)
    assert list(rate._paid_until) == ["later"]
