"""One set of results from several runs, such as those of jobs that each ran one client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from rocketwire.compat.results import Results, ResultsInvalid, check


class _Entry(Protocol):
    @property
    def id(self) -> str: ...


EntryT = TypeVar("EntryT", bound=_Entry)


def merged(runs: Sequence[Results]) -> Results:
    """The results of all runs, which must be of one endpoint (by its name), one reference and one rocketwire.

    Where two runs have a result of the same scenario, client and side, that of the later run counts. `seconds` is the
    sum, `namesrv` that of the first run.

    Raises:
        ResultsInvalid: They are not, or there is no run.
    """
    if not runs:
        raise ResultsInvalid("there are no results")
    ordered = sorted(runs, key=lambda run: run.started)
    first = ordered[0]
    _one("endpoints", {run.endpoint.name for run in runs})
    _one("versions of rocketwire", {run.version for run in runs})
    _one("references", {run.reference.name for run in runs if run.reference})
    cells = {(each.scenario, each.client, each.side): each for run in ordered for each in run.results}
    settings = dict.fromkeys(line for run in ordered for line in run.endpoint.settings)
    found = Results(
        started=first.started,
        seconds=sum(run.seconds for run in runs),
        version=first.version,
        endpoint=type(first.endpoint)(
            namesrv=first.endpoint.namesrv, name=first.endpoint.name, settings=tuple(settings)
        ),
        reference=next((run.reference for run in runs if run.reference), None),
        clients=_entries(run.clients for run in runs),
        features=_entries(run.features for run in runs),
        scenarios=_entries(run.scenarios for run in runs),
        results=tuple(cells.values()),
    )
    check(found)
    return found


def _one(what: str, names: set[str]) -> None:
    if len(names) > 1:
        raise ResultsInvalid(f"these are results of different {what}: {', '.join(sorted(names))}")


def _entries(lists: Iterable[Sequence[EntryT]]) -> tuple[EntryT, ...]:
    """All entries, each id once, in the order in which they come."""
    found: dict[str, EntryT] = {}
    for entries in lists:
        for entry in entries:
            found.setdefault(entry.id, entry)
    return tuple(found.values())
