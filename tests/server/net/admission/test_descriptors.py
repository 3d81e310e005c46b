"""The division of the process's descriptors."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from rocketwire.server.http.server import MOST_CONNECTIONS, SPARES
from rocketwire.server.net.admission import descriptors
from rocketwire.server.net.admission.descriptors import (
    KEPT_FOR_STORE,
    LEAST_CONNECTIONS,
    DescriptorBudget,
    Descriptors,
    DescriptorsTooFew,
)


def test_the_rest_is_for_connections(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    of = Descriptors(256, 20, http=False)
    assert of.linger_budget.most == 16
    assert of.connections.most == 256 - 20 - KEPT_FOR_STORE - 16 - 1
    of.log_shares()
    assert caplog.messages == ["descriptors: 256 in all, 32 reserved for the store, 187 left for connections"]


def test_http_has_its_share() -> None:
    of = Descriptors(256, 20, http=True)
    assert of.http == 16
    assert Descriptors(256, 20, http=False).connections.most - of.connections.most == of.http + SPARES + 2
    assert Descriptors(1 << 20, 20, http=True).http == MOST_CONNECTIONS


def test_too_few_descriptors_are_refused_with_the_number_needed() -> None:
    with pytest.raises(DescriptorsTooFew) as refused:
        Descriptors(32, 20, http=True)
    assert str(refused.value) == "the process may open 32 files, and needs 83 at least: raise the limit (ulimit -Hn)"
    with pytest.raises(DescriptorsTooFew):
        Descriptors(82, 20, http=True)
    of = Descriptors(85, 20, http=True)
    assert LEAST_CONNECTIONS <= of.connections.most < 2 * LEAST_CONNECTIONS


def test_the_limit_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 1000))
    open_now = descriptors.divide_descriptors(http=False)
    assert open_now.limit == 1000
    monkeypatch.setattr(descriptors, "_TABLE", Path("/no/such/table"))
    assert descriptors.divide_descriptors(http=False).connections.most == 1000 - 24 - KEPT_FOR_STORE - 62 - 1
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert descriptors.divide_descriptors(http=False).limit == 1 << 20


def test_a_budget_gives_what_it_has() -> None:
    room = DescriptorBudget(3)
    assert room.take(2)
    assert not room.take(2)
    assert room.take()
    assert room.full
    room.give_back(2)
    assert room.taken == 1
