"""Messages that consumers give back: what `retry` decides about them, and the kernel stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class NextTries(NamedTuple):
    """How messages of one topic are stored that a group gives back.

    Attributes:
        counted: What they are counted by: group and topic.
        limit: How many tries they have.
        topic: The group's retry topic, with one queue.
        behind: For each delay level the properties behind those of a first try, before its id.
    """

    counted: tuple[str, str]
    limit: int
    topic: str
    behind: tuple[bytes, ...]


class GivesBack(Protocol):
    """Decides about messages that are given back."""

    def next_tries(self, group: str, topic: str, *, unit_mode: bool) -> NextTries | None:
        """How they are stored; None: one like another. Raises what refuses them."""
        ...

    def count_all(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Count messages that were stored again, by `NextTries.counted`."""
        ...
