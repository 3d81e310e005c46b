"""Consumption by POP from any broker, and a record of which consumer has which message until when.

Theory: each message has a unique key, so the record shows at each pop whether the message may come: not while it is
out, not after it was acknowledged in time, whichever broker gave it and took the acknowledgement.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compat_tests.remoting import Answer, Connection
from compat_tests.stored import Stored, records
from rocketwire.wire.facts import properties as property_names

POP_MESSAGE: Final = 200050
ACK_MESSAGE: Final = 200051
CHANGE_INVISIBLE_TIME: Final = 200053
BATCH_ACK_MESSAGE: Final = 200151
_MOST: Final = 32
_NOTHING: Final = 210


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """A message as it was popped: its handle in parts."""

    name: str
    topic: str
    group: str
    start: int
    popped: int
    invisible: int
    revive_queue: int
    kind: str
    broker: str
    queue: int
    offset: int
    tries: int

    @property
    def due(self) -> int:
        """When it is visible again, in ms."""
        return self.popped + self.invisible

    @property
    def handle(self) -> str:
        """The handle's text."""
        parts = (self.start, self.popped, self.invisible, self.revive_queue, self.kind, self.broker, self.queue)
        return " ".join(map(str, (*parts, self.offset)))

    @property
    def own_topic(self) -> str:
        """The topic that it is in."""
        return {"0": self.topic, "1": f"%RETRY%{self.group}_{self.topic}", "2": f"%RETRY%{self.group}+{self.topic}"}[
            self.kind
        ]


def pop(connection: Connection, topic: str, group: str, *, most: int = _MOST, invisible: int = 4000) -> list[Got]:
    """Pop once, without waiting."""
    fields: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": -1, "maxMsgNums": most}
    fields |= {"invisibleTime": invisible, "pollTime": 0, "bornTime": now(), "initMode": 0, "order": "false"}
    answer = connection.ask(POP_MESSAGE, fields)
    assert answer.code in {0, _NOTHING}, answer
    return [_got(answer, record, topic, group) for record in records(answer.body)] if answer.code == 0 else []


def _got(answer: Answer, record: Stored, topic: str, group: str) -> Got:
    handle = record.properties.get(property_names.POP_CK)
    if handle is None:
        starts = dict(item.rsplit(" ", 1) for item in answer.fields["startOffsetInfo"].split(";"))
        place = (answer.fields["popTime"], answer.fields["invisibleTime"], answer.fields["reviveQid"])
        parts = [starts[f"0 {record.queue}"], *place, "0", "broker-a", str(record.queue), str(record.queue_offset)]
    else:
        parts = handle.split(" ")
    return Got(
        name=record.unique_key,
        topic=topic,
        group=group,
        start=int(parts[0]),
        popped=int(parts[1]),
        invisible=int(parts[2]),
        revive_queue=int(parts[3]),
        kind=parts[4],
        broker=parts[5],
        queue=int(parts[6]),
        offset=int(parts[7]),
        tries=int.from_bytes(record.raw[72:76], "big"),
    )


def ack(connection: Connection, got: Got) -> None:
    """Acknowledge a message."""
    fields: dict[str, str | int] = {"consumerGroup": got.group, "topic": got.own_topic, "queueId": got.queue}
    fields |= {"extraInfo": got.handle, "offset": got.offset}
    answer = connection.ask(ACK_MESSAGE, fields)
    assert answer.code == 0, answer


def ack_all(connection: Connection, messages: Sequence[Got]) -> None:
    """Acknowledge messages of one check point in one request."""
    first = messages[0]
    bits = sum(1 << (each.offset - first.start) for each in messages)
    packed = base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()
    body = {"c": first.group, "t": first.topic, "r": first.kind, "so": first.start, "q": first.queue}
    body |= {"rq": first.revive_queue, "pt": first.popped, "it": first.invisible, "b": packed}
    answer = connection.ask(BATCH_ACK_MESSAGE, body=json.dumps({"brokerName": first.broker, "acks": [body]}).encode())
    assert answer.code == 0, answer


def change(connection: Connection, got: Got, invisible: int) -> Got:
    """Keep a message for another time; as it is then."""
    fields: dict[str, str | int] = {"consumerGroup": got.group, "topic": got.own_topic, "queueId": got.queue}
    fields |= {"extraInfo": got.handle, "offset": got.offset, "invisibleTime": invisible}
    answer = connection.ask(CHANGE_INVISIBLE_TIME, fields)
    assert answer.code == 0, answer
    return replace(got, start=got.offset, popped=int(answer.fields["popTime"]), invisible=invisible)


def now() -> int:
    """The time in ms."""
    return time.time_ns() // 1_000_000


class PopBook:
    """What one group may get of a topic, and got."""

    def __init__(self, topic: str, group: str) -> None:
        self.topic = topic
        self.group = group
        self.out: dict[str, Got] = {}
        self.acked: set[str] = set()
        self.late: dict[str, int] = {}

    def pop(self, connection: Connection, most: int = _MOST, invisible: int = 4000) -> list[Got]:
        """Pop, and check that all of it may come."""
        found = pop(connection, self.topic, self.group, most=most, invisible=invisible)
        at = now()
        for got in found:
            assert got.name not in self.acked, f"{got} was acknowledged"
            before = self.out.get(got.name)
            assert before is None or before.due <= at, f"{got} is out as {before}"
            assert got.tries == (0 if before is None else before.tries + 1)
            self.out[got.name] = got
        return found

    def ack(self, connection: Connection, messages: Iterable[Got]) -> None:
        """Acknowledge messages singly."""
        for got in messages:
            ack(connection, got)
            self.acked.add(got.name)

    def ack_all(self, connection: Connection, messages: Sequence[Got]) -> None:
        """Acknowledge messages, those of one check point together."""
        points: dict[tuple[str, int, int, int], list[Got]] = {}
        for got in messages:
            points.setdefault((got.kind, got.queue, got.start, got.popped), []).append(got)
        for some in points.values():
            ack_all(connection, some)
        self.acked |= {got.name for got in messages}

    def change(self, connection: Connection, got: Got, invisible: int) -> None:
        """Keep a message for another time."""
        self.out[got.name] = change(connection, got, invisible)

    def unacked(self) -> set[str]:
        """The messages that must be redelivered."""
        return self.out.keys() - self.acked

    def wait(self, connection: Connection, names: set[str], within: float, invisible: int = 60_000) -> list[Got]:
        """Pop until all these have come; what came."""
        end = time.monotonic() + within
        found: dict[str, Got] = {}
        while missing := names - found.keys():
            assert time.monotonic() < end, f"{missing} do not come"
            found |= {got.name: got for got in self.pop(connection, invisible=invisible)}
            time.sleep(0.02)
        return list(found.values())
