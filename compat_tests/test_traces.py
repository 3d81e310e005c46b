"""What an official Java client traces is stored, and complete, however its consumers get their messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from compat_tests.endpoints import TARGETS
from compat_tests.opened import opened
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.endpoint import Access
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenarios.pop import QUICK, pops
from rocketwire.compat.scenarios.trace import reports_of

_REGION: Final = "DefaultRegion"
_MODES: Final = {
    "pull": {},
    "orderly": {"listener": "orderly"},
    "POP": {"rebalance": "broker"},
    "broadcasting": {"model": "broadcasting"},
}


@pytest.fixture(scope="module", params=["rocketwire", "apache-5.5.0"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """A client of 5.x at an endpoint that keeps traces."""
    folder = tmp_path_factory.mktemp("endpoint")
    with (
        running(TARGETS[request.param](folder, settings={"traceTopicEnable": "true"})) as endpoint,
        opened("java-5.5.0", Access(namesrv=endpoint.namesrv), QUICK) as case,
    ):
        yield case


@pytest.mark.parametrize("mode", list(_MODES))
def test_consumption_is_traced(case: Case, mode: str) -> None:
    topic, group, producers = case.topic(1), case.group(), case.group("producers")
    if mode == "POP":
        pops(case, topic, group)
    messages = [Outgoing(body=f"{mode} {number}", keys=f"k{number}", tags="T") for number in range(3)]
    reported = {"topic": topic, "group": group, "producerGroup": producers}
    got = case.client.run("Traced", {**reported, **_MODES[mode]}, message=messages)
    assert sorted(event["text"] for event in events(got, "received")) == [each.body for each in messages]
    for number, sent in enumerate(events(got, "sent")):
        reports = reports_of(case, sent["msgId"], {"Pub", "SubBefore", "SubAfter"})
        (published,) = [report for report in reports if report[0] == "Pub"]
        assert {producers, topic, "T", f"k{number}", _REGION} <= {*published}
        (before,) = [report for report in reports if report[0] == "SubBefore"]
        (after,) = [report for report in reports if report[0] == "SubAfter"]
        _, _, region, of_group, request, message, tries, keys, *_ = before
        assert (region, of_group, message, tries, keys) == (_REGION, group, sent["msgId"], "0", f"k{number}")
        assert [*after[1:3], after[4], after[5]] == [request, sent["msgId"], "true", f"k{number}"]
