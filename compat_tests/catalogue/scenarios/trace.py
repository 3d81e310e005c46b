"""Message trace: producers and consumers report what they did to the trace topic."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Need, scenario
from rocketwire.wire.names import TRACE_TOPIC

_FIELDS: Final = "\x01"
_REPORTS: Final = "\x02"


def reports_of(case: Case, message_id: str, kinds: set[str]) -> list[list[str]]:
    """The fields of each report about a message, once there are such of these kinds."""
    reports: list[list[str]] = []

    def reported() -> bool:
        found = case.doing("Query").only("by key", "Query", topic=TRACE_TOPIC, key=[message_id], most=32)
        fields = [report.split(_FIELDS) for event in found for report in event["text"].split(_REPORTS) if report]
        reports[:] = [report for report in fields if message_id in report]
        return kinds <= {report[0] for report in reports}

    case.wait_until(reported, f"reports of {sorted(kinds)} are in {TRACE_TOPIC}")
    return reports


@scenario(
    id="trace.send-and-consume",
    proves="The send and the consumption of a traced message are found in the trace topic by its id.",
    source="Apache 4.9, AsyncTraceDispatcher and TraceDataEncoder; rocketmq.apache.org, Message Trace",
    needs=(Need.TRACE,),
    programs=("Traced",),
    background=("Query",),
)
def send_and_consume(case: Case) -> None:
    topic, group, producers = case.topic(1, name="Traced"), case.group(), case.group("producers")
    messages = [Outgoing(body="at once", keys="k1", tags="Now")]
    got = case.client.run("Traced", topic=topic, group=group, producerGroup=producers, message=messages)
    (sent,) = events(got, "sent")
    assert [event["text"] for event in events(got, "received")] == ["at once"]
    # A 5.x consumer reports nothing of a message without a region, which Apache's brokers of 4.9 do not add.
    silent = case.client.id in {"java-5.5.0", "spring-5.3"} and case.endpoint.is_apache_4
    reports = reports_of(case, sent["msgId"], {"Pub"} if silent else {"Pub", "SubBefore", "SubAfter"})
    (publication,) = [report for report in reports if report[0] == "Pub"]
    assert {producers, topic, "Now", "k1"} <= set(publication)
