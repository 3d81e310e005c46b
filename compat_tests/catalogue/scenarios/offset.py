"""Offsets: of queues, by time, of groups; and where new groups begin."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Outgoing
from rocketwire.compat.scenario import Need, scenario

EARLY, LATE, NEW = (
    {f"{when} {queue} {number}" for queue in (0, 1) for number in (0, 1)} for when in ("early", "late", "new")
)
EVERYTHING: Final = EARLY | LATE | NEW


@scenario(
    id="offset.queues-and-times",
    proves="First and last offset, offset by time, earliest store time; one client's stored offset is another's.",
    source="Apache 4.9, AdminBrokerProcessor and ConsumerManageProcessor",
    programs=("PullAll", "PullOffsets"),
    background=("SendToQueue",),
)
def queues_and_times(case: Case) -> None:
    topic, group = case.topic(), case.group()
    messages = [Outgoing(body=f"{i}", queue=0) for i in range(10)]
    case.send_to_queues(topic, messages[:5])
    case.send_to_queues(topic, messages[5:])  # a new client, so some ms later
    read = case.client.only("received", "PullAll", topic=topic, group=group, count=10)
    times = [event["storeTimestamp"] for event in read]
    got = case.client.run("PullOffsets", topic=topic, group=group, store=7, time=times[5])
    (offsets,) = events(got, "offsets")
    assert (offsets["min"], offsets["max"]) == (0, 10)
    assert offsets["earliestStoreTime"] == times[0]
    assert offsets["atZero"] == 0
    assert offsets["later"] in {9, 10}
    assert times[offsets["atTime"]] == times[5]
    assert offsets["stored"] == 0  # a group that stored nothing yet begins at the first offset
    (stored,) = events(got, "stored")
    assert stored["offset"] == 7


def _begun(case: Case, *wanted: set[str]) -> list[set[str]]:
    """What new groups got from the first message, from the last and from a time on."""
    names = ("FIRST_OFFSET", "LAST_OFFSET", "TIMESTAMP")
    topic = case.topic(2, name="Begun")
    counts = {name: len(messages) for name, messages in zip(names, wanted, strict=True)}
    got = events(case.client.run("ConsumeFrom", counts, topic=topic, group=case.group("new")), "received")
    # A message may come twice: the queues of several brokers are handed over while a consumer begins.
    return [{event["text"] for event in got if event["by"] == name} for name in names]


@scenario(
    id="offset.begin-in-old-queue",
    proves="In a queue whose messages are old, a new group begins where its consumer wants: first, last or at a time.",
    source="Apache 4.9, ConsumerManageProcessor.queryConsumerOffset and RebalancePushImpl.computePullFromWhere",
    needs=(Need.AGED_QUEUES,),
    programs=("ConsumeFrom",),
    limit=120,
)
def begin_in_old_queue(case: Case) -> None:
    wanted = [EVERYTHING, NEW, LATE | NEW]
    assert _begun(case, *wanted) == wanted


@scenario(
    id="offset.begin-in-young-queue",
    proves="While a queue's first message counts as in memory, a new group begins with it, whatever its option.",
    source="Apache 4.9, ConsumerManageProcessor.queryConsumerOffset",
    needs=(Need.YOUNG_QUEUES,),
    programs=("ConsumeFrom",),
    limit=120,
)
def begin_in_young_queue(case: Case) -> None:
    wanted = [EVERYTHING] * 3
    assert _begun(case, *wanted) == wanted
