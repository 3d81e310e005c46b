"""The clients for which messages are renewed, and for how long."""

from __future__ import annotations

import pytest

from rocketwire.server.pop.renewals import MOST_MS, STEP_MS, Renewals, invisible_ms

POPPED = 1_000_000


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def ms(self, at: float | None = None) -> int:
        """The wall time at a time, or now."""
        return round((self.now if at is None else at) * 1000)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def renewals(time: Time) -> Renewals:
    made = Renewals(time, time.ms)
    time.now = 1000.0  # long after the start
    return made


def renews(renewals: Renewals, client: str | None = "a", after: int = STEP_MS) -> int | None:
    return renewals.renewal_ms(client, POPPED, POPPED + after)


def test_messages_of_connected_clients_are_renewed(renewals: Renewals) -> None:
    assert renews(renewals) is None
    renewals.client_arrived("a")
    assert renews(renewals) == 2 * STEP_MS
    assert renews(renewals, "b") is None
    assert renews(renewals, None) is None


def test_a_client_that_lost_its_connection_may_come_back(renewals: Renewals, time: Time) -> None:
    renewals.client_arrived("a")
    renewals.client_left("a")
    assert renews(renewals) is not None
    time.now += 14
    assert renews(renewals) is not None
    time.now += 2
    assert renews(renewals) is None
    renewals.client_arrived("a")
    assert renews(renewals) is not None


def test_a_client_that_unregistered_does_not_return(renewals: Renewals) -> None:
    renewals.client_arrived("a")
    renewals.client_left("a", for_good=True)
    assert renews(renewals) is None


def test_clients_that_left_are_forgotten(renewals: Renewals, time: Time) -> None:
    for number in range(100):
        renewals.client_arrived(str(number))
        renewals.client_left(str(number))
        time.now += 1
    assert len(renewals._grace_ends) <= 16


def test_after_a_start_all_clients_count_as_connected(time: Time) -> None:
    renewals = Renewals(time, time.ms)
    time.now = 59.0
    assert renews(renewals) is not None
    time.now = 61.0
    assert renews(renewals) is None


def test_messages_that_may_be_lost_with_a_connection_are_not_renewed(renewals: Renewals, time: Time) -> None:
    renewals.client_arrived("a")
    renewals.client_arrived("b")
    heard = time.now
    answered, time.now = heard + 20, heard + 50
    renewals.connection_broke("a", heard, answered)
    renewals.client_arrived("a")  # it is back
    time.now += STEP_MS / 1000

    def lost(at: float, client: str = "a") -> bool:
        return renewals.renewal_ms(client, time.ms(at), time.ms()) is None

    assert [lost(at) for at in (heard - 11, heard - 9, heard, answered)] == [False, True, True, True]
    assert not lost(answered + 2)  # over another connection
    assert not lost(heard, "b")
    renewals.connection_broke("a", time.now, time.now)
    assert lost(heard)  # it breaks again and again
    assert not lost(answered + 2)
    assert lost(time.now - 1)


def test_broken_connections_are_forgotten(renewals: Renewals, time: Time) -> None:
    for number in range(1000):
        renewals.connection_broke(str(number % 500), time.now, time.now)
        renewals.connection_broke("a", time.now, time.now)
        if number % 20 == 0:
            renewals.connection_broke("b", time.now, time.now)
        time.now += 1
    assert len(renewals._breaks) <= 183
    assert len(renewals._breaks["a"]) == 1  # they overlap
    assert len(renewals._breaks["a"][0]) <= 182_000
    assert len(renewals._breaks["b"]) <= 10


@pytest.mark.parametrize(("alive", "lost_since"), [(1000.0, 990.0), (975.0, 965.0), (1003.0, 990.0)])
def test_messages_that_may_be_lost_with_the_server_are_not_renewed(time: Time, alive: float, lost_since: float) -> None:
    start = time.now = 1000.0
    renewals = Renewals(time, time.ms, time.ms(alive))
    time.now += 50

    def lost(at: float) -> bool:
        return renewals.renewal_ms("a", time.ms(at), time.ms()) is None

    assert [lost(at) for at in (lost_since - 1, lost_since, start - 1, start)] == [False, True, True, False]
    assert renewals.renewal_ms("a", time.ms(start - 1), time.ms(), 2 * STEP_MS) is not None  # its client received it


def test_messages_are_not_renewed_without_end(renewals: Renewals) -> None:
    renewals.client_arrived("a")
    assert renews(renewals, after=MOST_MS - 1) == MOST_MS
    assert renews(renewals, after=MOST_MS) is None


@pytest.mark.parametrize(
    ("after", "steps"), [(-5, 1), (0, 1), (STEP_MS - 1, 1), (STEP_MS, 2), (STEP_MS + 7, 2), (10 * STEP_MS, 11)]
)
def test_the_time_follows_from_that_of_the_pop(after: int, steps: int) -> None:
    assert invisible_ms(POPPED, POPPED + after) == steps * STEP_MS


def test_breaks_and_graces_are_noted_for_a_bounded_number_of_clients(
    renewals: Renewals, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocketwire.server.pop.renewals.MOST_KEPT", 2)
    for client in "abc":
        renewals.client_arrived(client)
        renewals.connection_broke(client, time.now, time.now)
        renewals.client_left(client)
    assert [renews(renewals, client) for client in "abc"] == [None] * 3  # no grace, and twice a break
    for client in "abc":
        renewals.client_arrived(client)
    assert [renews(renewals, client) is not None for client in "abc"] == [True, False, False]
