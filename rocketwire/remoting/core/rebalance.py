"""Which member of a group consumes which queues: each decides by itself, and all decide the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rocketwire.remoting.messages import Queue


def allocate_queues(own: str, members: Collection[str], queues: Sequence[Queue]) -> list[Queue]:
    """The queues of one member by the strategy that Java's clients use: equal parts of consecutive queues.

    Args:
        own: The member's client id.
        members: The client ids of all members, in any order.
        queues: All queues of a topic, sorted.
    """
    ordered = sorted(set(members), key=_java_order)
    if own not in ordered:
        return []
    number = ordered.index(own)
    least, rest = divmod(len(queues), len(ordered))
    start = number * least + min(number, rest)
    return list(queues[start : start + least + (number < rest)])


def _java_order(text: str) -> bytes:
    """Java compares texts by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")
