"""Order: one message of a queue at a time, also while consumers fail, join and leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rocketwire.compat.case import Case
from rocketwire.compat.clients.client import events
from rocketwire.compat.messages import Event, Outgoing, assert_each_once, by_queue
from rocketwire.compat.scenario import Need, scenario

KEYS: Final = 12
QUEUES: Final = 6
QUICK: Final[Mapping[str, str]] = {
    "JAVA_TOOL_OPTIONS": "-Drocketmq.client.rebalance.waitInterval=1000 "
    "-Drocketmq.client.rebalance.lockInterval=1000 "
    "-Drocketmq.client.unlockDelayTimeMills=100"
}
"""The Java client rebalances every 20 s, and keeps the lock of a queue that it loses for 20 s more."""
_ORDERLY: Final = (
    "Apache 4.9, ConsumeMessageOrderlyService and RebalanceLockManager; rocketmq.apache.org, Ordered Message"
)


@scenario(
    id="order.one-at-a-time",
    proves="An orderly consumer gets each queue's messages in their order, one at a time.",
    source=_ORDERLY,
    programs=("PushOrderly",),
    background=("SendBySelector",),
)
def one_at_a_time(case: Case) -> None:
    """The broker holds the queue's lock for the consumer."""
    topic = case.topic()
    messages = [Outgoing(body=f"order {i % 4} step {i // 4}", queue=i % 4) for i in range(80)]
    case.doing("SendBySelector").run("SendBySelector", topic=topic, message=messages)
    got = case.client.run("PushOrderly", topic=topic, group=case.group(), count=80)
    received = events(got, "received")
    assert_each_once(received, messages)
    for queue, in_queue in by_queue(received).items():
        assert [event["text"] for event in in_queue] == [f"order {queue} step {i}" for i in range(20)]
        assert [event["queueOffset"] for event in in_queue] == list(range(20))
    (overlaps,) = events(got, "overlaps")
    assert overlaps["count"] == 0


@scenario(
    id="order.queues-handed-on",
    proves="A second orderly consumer gets the locks that the first gave back when it left.",
    source=_ORDERLY,
    programs=("PushOrderly",),
    background=("SendBySelector",),
)
def queues_handed_on(case: Case) -> None:
    topic, group, sender = case.topic(), case.group(), case.doing("SendBySelector")
    first = [Outgoing(body=f"first {i}", queue=i % 4) for i in range(8)]
    sender.run("SendBySelector", topic=topic, message=first)
    assert len(case.client.only("received", "PushOrderly", topic=topic, group=group, count=8)) == 8
    second = [Outgoing(body=f"second {i}", queue=i % 4) for i in range(8)]
    sender.run("SendBySelector", topic=topic, message=second)
    received = case.client.only("received", "PushOrderly", topic=topic, group=group, count=8)
    assert_each_once(received, second)


@scenario(
    id="order.join-and-leave",
    proves="Order is kept for each key while orderly consumers fail messages, join and leave; none is skipped.",
    source=_ORDERLY,
    needs=(Need.ONE_BROKER,),
    programs=("OrderedGroup",),
    environment=QUICK,
    limit=180,
)
def join_and_leave(case: Case) -> None:
    topic = case.topic(QUEUES, name="Ordered")
    got = case.client.run(
        "OrderedGroup",
        topic=topic,
        group=case.group(),
        keys=KEYS,
        failing=10,
        pause=1500,
        change=["+a", "+b", "+c", "-a", "-b"],
    )
    check_order(got)
    assert takers(got) == {"a", "b", "c"}
    failures = suspended(got)
    assert len(set(failures)) == len(failures) > KEYS


@dataclass(slots=True)
class Queue:
    """What consumers did with one queue, followed event by event."""

    next_offset: int = 0
    """The offset to be consumed next, if nothing was lost."""
    holder: str = ""
    """The consumer that began the last message."""
    inside: set[str] = field(default_factory=set)
    """The consumers whose listeners are running."""
    reached: int = 0
    """The offset behind the last one that was ever consumed."""
    texts: dict[int, str] = field(default_factory=dict)
    """What was seen, by offset."""
    restarted: bool = False
    """Whether the endpoint restarted: commits may have been lost, and locks, which no broker keeps on disk.

    A client that had a lock relies on it until its next request, and another may have got it by then.
    """

    def begin(self, event: Event, number: int) -> None:
        """A listener takes a message: the next one, or, of a new holder, one that was consumed and not committed."""
        offset, by = event["offset"], event["by"]
        at_work = self.inside & {by} if self.restarted else self.inside
        assert not at_work, f"{event} (event {number}): {at_work} is not done yet"
        most = self.reached if self.restarted else self.next_offset
        assert offset <= most, f"{event} (event {number}): {most} was skipped"
        if offset < self.next_offset:
            assert by != self.holder or self.restarted, f"{event} (event {number}): goes back for no reason"
        self.inside.add(by)
        self.holder, self.next_offset = by, offset
        assert self.texts.setdefault(offset, event["text"]) == event["text"]

    def end(self, event: Event) -> None:
        """A listener is done."""
        self.inside.discard(event["by"])
        if event["event"] == "end":
            behind = event["offset"] + 1
            self.reached = max(self.reached, behind)
            if event["by"] == self.holder:
                self.next_offset = behind


def check_order(got: Sequence[Event], *, restarted: bool = False) -> None:
    """Everything sent was consumed, one message of a queue at a time, in the order of its key."""
    queues: defaultdict[int, Queue] = defaultdict(lambda: Queue(restarted=restarted))
    for number, event in enumerate(got):
        if event["event"] == "begin":
            queues[event["queue"]].begin(event, number)
        elif event["event"] in {"end", "suspend"}:
            queues[event["queue"]].end(event)
    (total,) = events(got, "total")
    again = {event["text"] for event in events(got, "again")}
    assert total["sent"] == total["done"] > 0
    numbers: dict[int, list[int]] = defaultdict(list)
    for queue in queues.values():
        assert not queue.inside
        assert queue.next_offset == queue.reached, "went back and did not come on again"
        assert sorted(queue.texts) == list(range(queue.reached)), "a message was skipped"
        for key, number_of_key in numbered(queue.texts[offset] for offset in range(queue.reached)):
            numbers[key].append(number_of_key)
    for key, of_key in numbers.items():
        # What was sent again may have been stored the first time; no other message is stored twice.
        once = [n for at, n in enumerate(of_key) if not (at and n == of_key[at - 1] and f"{key}-{n}" in again)]
        assert once == list(range(len(once))), f"key {key}"
    assert sum(len(set(of_key)) for of_key in numbers.values()) == total["sent"]


def numbered(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Key and number of each message."""
    for text in texts:
        key, _, number = text.partition("-")
        yield int(key), int(number)


def takers(got: Sequence[Event]) -> set[str]:
    """Who consumed."""
    return {event["by"] for event in events(got, "end")}


def suspended(got: Sequence[Event]) -> list[str]:
    """What was suspended, each once."""
    return [event["text"] for event in events(got, "suspend")]
