"""Consumers of one group join and leave: those present share all queues, and nothing comes twice."""

from __future__ import annotations

from collections import Counter

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.scenario import Need, scenario


@scenario(
    id="group.join-and-leave",
    proves="Three consumers of a group that join and leave share all queues at once, and no message comes twice.",
    source="Apache 4.9, ConsumerManager, DefaultConsumerIdsChangeListener and AllocateMessageQueueAveragely",
    needs=(Need.ONE_BROKER,),
    programs=("GroupChanges",),
    limit=150,
)
def join_and_leave(case: Case) -> None:
    topic = case.topic(6, name="Shared")
    got = case.client.run("GroupChanges", topic=topic, group=case.group(), perQueue=3)
    settled = events(got, "settled")
    shares = [{name: len(queues) for name, queues in event["held"].items()} for event in settled]
    assert shares == [{"a": 6}, {"a": 3, "b": 3}, {"a": 2, "b": 2, "c": 2}, {"b": 3, "c": 3}, {"c": 6}]
    for event in settled:
        assert len({queue for queues in event["held"].values() for queue in queues}) == 6
        # The broker notifies the others of a change at once; clients alone would find out within 20 s.
        assert event["ms"] < 15_000
    received = events(got, "received")
    assert Counter(event["text"] for event in received).most_common(1)[0][1] == 1
    (total,) = events(got, "total")
    assert total["sent"] == total["received"] == len(received) == 5 * 6 * 3
    for change, present in (("+a", "a"), ("+b", "ab"), ("+c", "abc"), ("-a", "bc"), ("-b", "c")):
        takers = {event["by"] for event in received if event["text"].startswith(change + " ")}
        assert takers == set(present)
