"""The results of a run in the form of the report."""

from __future__ import annotations

from collections.abc import Sequence

from rocketwire import __version__
from rocketwire.compat import results
from rocketwire.compat.engine.run import Settings
from rocketwire.compat.results import Result, Results, Side
from rocketwire.compat.scenario import FEATURES, Scenario


def results_of(
    settings: Settings, scenarios: Sequence[Scenario], found: Sequence[Result], *, started: int, seconds: float
) -> Results:
    """All that a run found: by client and scenario in the order of the catalogue, whatever ended first.

    Args:
        settings: Those of the run.
        scenarios: The chosen ones.
        found: Their results.
        started: When it began, ms since 1970.
        seconds: What it took.
    """
    facts = settings.sides[Side.ENDPOINT]
    reference = settings.sides.get(Side.REFERENCE)
    clients = {name: place for place, name in enumerate(settings.clients)}
    order = {each.id: place for place, each in enumerate(scenarios)}
    used = {each.feature for each in scenarios}
    return Results(
        started=started,
        seconds=round(seconds, 3),
        version=__version__,
        endpoint=results.Endpoint(namesrv=facts.access.namesrv, name=facts.name, settings=facts.settings),
        reference=None if reference is None else results.Reference(name=reference.name),
        clients=tuple(
            results.Client(
                id=each.id,
                name=each.name,
                version=each.version,
                language=each.language,
                where="host" if settings.engine.where == "host" else "container",
            )
            for each in settings.clients.values()
        ),
        features=tuple(results.Feature(id=id_, name=name) for id_, name in FEATURES.items() if id_ in used),
        scenarios=tuple(
            results.Scenario(
                id=each.id,
                feature=each.feature,
                proves=each.proves,
                source=each.source,
                needs=tuple(map(str, each.needs)),
                limit=each.limit,
                ours_only=each.ours_only,
            )
            for each in scenarios
        ),
        results=tuple(sorted(found, key=lambda each: (clients[each.client], order[each.scenario], each.side))),
    )
