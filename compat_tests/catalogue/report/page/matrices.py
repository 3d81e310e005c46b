"""The two tables: features by clients with counts, and scenarios by clients with outcomes.

Both are tables of HTML that can be read without a script. The script makes grids of them, in which the arrow keys move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from rocketwire.compat.report.outcomes import LETTERS, SYMBOLS
from rocketwire.compat.report.page.markup import Html, element, hidden, joined
from rocketwire.compat.report.page.summary import sign
from rocketwire.compat.report.score import Score, score_of
from rocketwire.compat.results import Client, Feature, Outcome, Result, Results, Scenario, Side

Cells: TypeAlias = Mapping[tuple[str, str, Side], Result]


def features(results: Results) -> Html:
    """Features by clients: how many scenarios of those offered pass."""
    cells = cells_of(results)
    header = [element("th", "Feature", scope="col", class_="corner")]
    header += [
        element("th", _name(client), scope="col", data_client=place) for place, client in enumerate(results.clients)
    ]
    header.append(element("th", "All clients", scope="col"))
    if results.reference:
        header.append(element("th", "Reference", hidden(f", {results.reference.name}"), scope="col", class_="ref"))
    rows = (_feature(results, cells, place) for place, _ in used(results))
    return element(
        "table",
        element("caption", "Scenarios that pass, of those offered, by feature and client"),
        element("thead", element("tr", *header)),
        element("tbody", *rows),
        class_="matrix features",
        id="by-feature",
    )


def used(results: Results) -> list[tuple[int, Feature]]:
    """The features that have scenarios, with their places."""
    named = {each.feature for each in results.scenarios}
    return [(place, each) for place, each in enumerate(results.features) if each.id in named]


def cells_of(results: Results) -> Cells:
    """The results by scenario, client and side."""
    return {(each.scenario, each.client, each.side): each for each in results.results}


def _name(client: Client) -> Html:
    """The client's id, which may break after each hyphen."""
    parts = client.id.split("-")
    broken = [joined(f"{each}-", Html("<wbr>")) for each in parts[:-1]]
    return element("span", *broken, parts[-1], class_="client")


def _feature(results: Results, cells: Cells, place: int) -> Html:
    feature = results.features[place]
    own = [each.id for each in results.scenarios if each.feature == feature.id]
    columns = [
        _counted(_score(cells, own, [client.id], Side.ENDPOINT), f"f={place} c={number}", data_client=number)
        for number, client in enumerate(results.clients)
    ]
    everyone = [client.id for client in results.clients]
    columns.append(_counted(_score(cells, own, everyone, Side.ENDPOINT), f"f={place}", class_="all"))
    if results.reference:
        columns.append(_counted(_score(cells, own, everyone, Side.REFERENCE), f"f={place}", class_="ref"))
    link = element("a", feature.name, href=f"#feature-{place}")
    return element("tr", element("th", link, scope="row"), *columns, data_feature=place)


def _score(cells: Cells, scenarios: list[str], clients: list[str], side: Side) -> Score:
    return score_of(
        cells[scenario, client, side]
        for scenario in scenarios
        for client in clients
        if (scenario, client, side) in cells
    )


def _counted(found: Score, go: str, *, class_: str = "", data_client: int | None = None) -> Html:
    counts = found.counts
    if not found.offered:
        kind, shown = Outcome.NOT_OFFERED, joined(sign(Outcome.NOT_OFFERED), hidden("not offered"))
    else:
        kind = next((each for each in (Outcome.FAILS, Outcome.DIFFERS, Outcome.FLAKY) if counts[each]), Outcome.PASS)
        reported = [
            joined(
                element("span", f"{counts[each]} {SYMBOLS[each]}", aria_hidden="true"),
                hidden(f", {counts[each]} {each}"),
            )
            for each in (Outcome.FLAKY, Outcome.DIFFERS, Outcome.FAILS)
            if counts[each]
        ]
        shown = joined(f"{found.passed}/{found.offered}", *(element("small", each) for each in reported))
    kinds = f"{LETTERS[kind]} {class_}".strip()
    return element("td", shown, class_=kinds, data_go=go, data_client=data_client)


def scenarios(results: Results) -> Html:
    """Scenarios by clients, grouped by feature; with a reference its outcome stands beside each one."""
    cells = cells_of(results)
    both = results.reference is not None
    header = [element("th", "Scenario", scope="col", class_="corner", rowspan=2 if both else None)]
    second: list[Html] = []
    for place, client in enumerate(results.clients):
        span = 2 if both else None
        header.append(
            element(
                "th",
                _name(client),
                scope="colgroup" if both else "col",
                colspan=span,
                data_client=place,
                id=f"c{place}",
            )
        )
        second.append(element("th", "tested", scope="col", data_client=place))
        second.append(element("th", "ref", hidden("erence"), scope="col", class_="ref", data_client=place))
    rows = [element("tr", *header)] + ([element("tr", *second)] if both else [])
    groups = (_group(results, cells, place, feature) for place, feature in used(results))
    return element(
        "table",
        element("caption", "Outcome of each scenario for each client"),
        element("thead", *rows),
        *groups,
        class_="matrix scenarios",
        id="by-scenario",
    )


def _group(results: Results, cells: Cells, place: int, feature: Feature) -> Html:
    own = [(number, each) for number, each in enumerate(results.scenarios) if each.feature == feature.id]
    width = 1 + len(results.clients) * (2 if results.reference else 1)
    title = element("span", feature.name, class_="stick")
    header = element("tr", element("th", title, colspan=width, scope="rowgroup", id=f"feature-{place}"), class_="group")
    rows = (_row(results, cells, number, scenario) for number, scenario in own)
    return element("tbody", header, *rows, data_feature=place)


def _row(results: Results, cells: Cells, number: int, scenario: Scenario) -> Html:
    columns: list[Html] = []
    for place, client in enumerate(results.clients):
        columns.append(_cell(cells.get((scenario.id, client.id, Side.ENDPOINT)), place, ""))
        if results.reference:
            columns.append(_cell(cells.get((scenario.id, client.id, Side.REFERENCE)), place, "ref"))
    ours = element("span", "ours only", class_="ours") if scenario.ours_only else ""
    header = element(
        "th", element("code", scenario.id), ours, element("span", scenario.proves, class_="muted proves"), scope="row"
    )
    return element("tr", header, *columns, data_scenario=number)


def _cell(result: Result | None, place: int, class_: str) -> Html:
    if result is None:
        return element("td", hidden("did not run"), class_=f"none {class_}".strip(), data_client=place)
    shown = joined(sign(result.outcome), hidden(result.outcome))
    return element("td", shown, class_=f"{LETTERS[result.outcome]} {class_}".strip(), data_client=place)
