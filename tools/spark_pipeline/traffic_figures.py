"""What the page shows, as plain values: no Spark and no page is needed to hold them."""

from __future__ import annotations

from dataclasses import dataclass

#: Values over time by name; None where there is none.
Series = dict[str, list[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a run. Lists over time have a value for each step.

    Attributes:
        begins: When the first message was stored, as `2026-01-31 12:00:00 UTC`.
        step: Seconds of a step.
        steps: Where steps begin, in seconds since `begins`.
        acknowledged: Messages that the endpoint acknowledged to the producers.
        rows: Rows of these topics in Parquet.
        messages: Different messages among the rows: as many as rows, if each came once.
        retried: Copies that were stored in retry topics.
        dead: Dead letters.
        kib: KiB of all records.
        batches: Micro-batches of the stream.
        restarts: How often the stream was stopped and taken up by its checkpoint.
        traffic: Messages a second, by topic.
        stored: Percentiles of ms from born to stored.
        consumed: Percentiles of ms from born to consumed with success, by when the message was stored.
        retries: Copies a second that came into retry topics, by group.
        letters: Dead letters a second, by group.
        lag: Messages that are stored, and that the group has not yet been given.
        keys: The busiest keys and their parts of all messages, in %.
        different_keys: How many different keys there are.
        causes: Dead letters by group, topic, and why the group first failed.
    """

    begins: str
    step: float
    steps: list[float]
    acknowledged: int
    rows: int
    messages: int
    retried: int
    dead: int
    kib: int
    batches: int
    restarts: int
    traffic: Series
    stored: Series
    consumed: Series
    retries: Series
    letters: Series
    lag: Series
    keys: list[tuple[str, float]]
    different_keys: int
    causes: list[tuple[str, str, str, int]]
