"""The result of one run of a workload, and the summary of several runs.

Theory: a run is a Sample or a Failure, which never disappears among numbers. Runs of one workload on one side are
summarised by their median, smallest and largest; nothing is averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run: messages counted in `seconds` of measured time, and the CPU time the server used meanwhile.

    Latencies are microseconds of one request, 0 where the workload has none; `server_cpu_seconds` is None
    where it was not measured, so are `rss` and `private`, the server's memory in bytes after the run.
    """

    messages: int
    seconds: float
    p50_us: float = 0.0
    p99_us: float = 0.0
    max_us: float = 0.0
    server_cpu_seconds: float | None = None
    rss: int | None = None
    private: int | None = None

    @property
    def rate(self) -> float:
        """Messages a second; 0 when no time was measured."""
        return self.messages / self.seconds if self.seconds > 0 else 0.0

    @property
    def cpu_us(self) -> float | None:
        """Server CPU microseconds a message (user and system), or None when not measured."""
        if self.server_cpu_seconds is None or self.messages == 0:
            return None
        return self.server_cpu_seconds * 1e6 / self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that gave no numbers, and the reason in one line."""

    reason: str


def read_result(result: Mapping[str, object]) -> Sample | Failure:
    """The outcome that a load program printed as one JSON object."""
    if result.get("errors"):
        return Failure(reason=str(result.get("error", "the load program gave no reason")))
    cpu = number(result, "server_cpu_seconds", -1.0)
    return Sample(
        messages=int(number(result, "messages", 0.0)),
        seconds=number(result, "seconds", 0.0),
        p50_us=number(result, "p50_us", 0.0),
        p99_us=number(result, "p99_us", 0.0),
        max_us=number(result, "max_us", 0.0),
        server_cpu_seconds=cpu if cpu >= 0 else None,
    )


def number(result: Mapping[str, object], key: str, default: float) -> float:
    """The number that a result has under `key`; `default` when it has none."""
    value = result.get(key, default)
    return float(value) if isinstance(value, int | float) else default


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Smallest, median and largest of the same figure of several runs."""

    low: float
    middle: float
    high: float


def spread(values: Iterable[float]) -> Spread | None:
    """The spread of `values`, None when there are none."""
    known = sorted(values)
    return Spread(low=known[0], middle=median(known), high=known[-1]) if known else None


def middle(found: Spread | None) -> float | None:
    """The median, None when there is none."""
    return None if found is None else found.middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All counted runs of one workload on one side."""

    rate: Spread | None
    cpu_us: float | None
    p50_us: float | None
    p99_us: float | None
    rss: float | None
    private: float | None
    failures: tuple[str, ...]


def summarise(outcomes: Iterable[Sample | Failure]) -> Summary:
    """Sum up runs; a figure that no run has is None."""
    runs = list(outcomes)
    samples = [run for run in runs if isinstance(run, Sample)]
    return Summary(
        rate=spread(sample.rate for sample in samples),
        cpu_us=middle(spread(cpu for sample in samples if (cpu := sample.cpu_us) is not None)),
        p50_us=middle(spread(sample.p50_us for sample in samples if sample.p50_us > 0)),
        p99_us=middle(spread(sample.p99_us for sample in samples if sample.p99_us > 0)),
        rss=middle(spread(sample.rss for sample in samples if sample.rss is not None)),
        private=middle(spread(sample.private for sample in samples if sample.private is not None)),
        failures=tuple(run.reason for run in runs if isinstance(run, Failure)),
    )


def compared(
    outcomes: Iterable[Sample | Failure], base: Iterable[Sample | Failure], by: Literal["rate", "cpu"] = "rate"
) -> Spread | None:
    """The ratios of runs' rates (or CPU time a message) to those of the base's runs of the same rounds.

    None when there are none.
    """
    pairs = [
        (run, other)
        for run, other in zip(outcomes, base, strict=False)
        if isinstance(run, Sample) and isinstance(other, Sample)
    ]
    if by == "rate":
        return spread(run.rate / other.rate for run, other in pairs if other.rate > 0)
    return spread(run.cpu_us / other.cpu_us for run, other in pairs if run.cpu_us is not None and other.cpu_us)
