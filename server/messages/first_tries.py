"""Messages that consumers give back for the first time: what `retry` decides about them, and the kernel stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class FirstTries(NamedTuple):
    """How messages of one topic are stored that a group gives back for the first time.

    Attributes:
        counted: What they are counted by: group and topic.
        limit: How many tries they have.
        behind: For each delay level the properties behind the message's own, before its id.
    """

    counted: tuple[str, str]
    limit: int
    behind: tuple[bytes, ...]


class GivesBack(Protocol):
    """Decides about messages that are given back."""

    def first_tries(self, group: str, topic: str, *, unit_mode: bool) -> FirstTries | None:
        """How first tries are stored; None: one like another. Raises what refuses them."""
        ...

    def count_all(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Count messages that were stored again, by `FirstTries.counted`."""
        ...
