"""Stores that our own broker's store wrote, with topics, queues, tags and times known."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketwire.store.store import MessageStore
from tests.store.support import START, Clock, draft, open_store, small

STEP = 1000


@dataclass
class Made:
    """A store and what was put into it: topic, queue, queue offset, tag, store time, unique key of each message."""

    root: Path
    messages: list[dict[str, Any]] = field(default_factory=list)


def fill(made: Made, store: MessageStore, clock: Clock, count: int, *, topics: int = 2, queues: int = 2) -> None:
    """Append messages, one each STEP ms, of topics T0, T1 and so on."""
    for number in range(len(made.messages), len(made.messages) + count):
        clock.now = START + number * STEP
        topic, queue_id = f"T{number % topics}", number // topics % queues
        body = b"body-%d " % number * (1 + number % 7)
        [appended] = store.append([draft(number, topic=topic, queue_id=queue_id, body=body)])
        made.messages.append(
            {
                "topic": topic,
                "queue_id": queue_id,
                "queue_offset": appended.queue_offset,
                "physical_offset": appended.physical_offset,
                "size": appended.size,
                "tags": f"Tag{number % 3}",
                "time": clock.now,
                "message_id": f"U{number:07d}",
                "body": body,
            }
        )


def make(root: Path, count: int = 120, *, topics: int = 2, queues: int = 2, **changes: Any) -> Made:
    """A store at rest. Its log's files are of 4 KiB, a dozen messages each."""
    made, clock = Made(root), Clock()
    store = open_store(small(root, **({"index_entries": 10_000, "index_slots": 100} | changes)), clock)
    fill(made, store, clock, count, topics=topics, queues=queues)
    store.dispatch_index()
    store.close()
    return made


def places(rows: list[dict[str, Any]]) -> list[int]:
    """Where the rows' messages are, each once."""
    found = sorted(row["physical_offset"] for row in rows)
    assert len(set(found)) == len(found)
    return found
