"""What is to be measured, by names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from bench.grpc import COST, GRPC
from bench.proxy import PROXY
from bench.timers import TIMERS, TimerLoad
from bench.workloads import IDLE, START, WORKLOADS, Workload

_FACTS: Final = frozenset({START, IDLE, COST, PROXY})
NAMES: Final[Sequence[str]] = (
    START,
    IDLE,
    *(workload.name for workload in WORKLOADS),
    *(load.name for load in TIMERS),
    *(workload.name for workload in GRPC),
    COST,
    PROXY,
)


class Chosen(NamedTuple):
    """What is to be measured; `facts` are those of _FACTS, `grpc` those of the front for 5.x."""

    workloads: list[Workload]
    facts: frozenset[str]
    timers: list[TimerLoad]
    grpc: list[Workload]


def chosen(only: str | None) -> Chosen:
    """What `only` names; None means all.

    A word (they stand between commas) names the workload so called, else all that begin with it. What one is
    compared with is measured with it.
    Raises ValueError for a word that fits nothing.
    """
    if only is None:
        return Chosen(list(WORKLOADS), _FACTS, list(TIMERS), list(GRPC))
    wanted: set[str] = set()
    for word in filter(None, only.split(",")):
        fitting = [name for name in NAMES if name == word] or [name for name in NAMES if name.startswith(word)]
        if not fitting:
            raise ValueError(f"no workload begins with {word!r}; there are {', '.join(NAMES)}")
        wanted.update(fitting)
    wanted |= {workload.against for workload in WORKLOADS if workload.name in wanted and workload.against}
    return Chosen(
        [workload for workload in WORKLOADS if workload.name in wanted],
        _FACTS & wanted,
        [load for load in TIMERS if load.name in wanted],
        [workload for workload in GRPC if workload.name in wanted],
    )
