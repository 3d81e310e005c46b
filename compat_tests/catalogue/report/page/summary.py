"""The top of the page: what was tested, the score, the clients, and what did not pass."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from rocketwire.compat.report.outcomes import LETTERS, SYMBOLS
from rocketwire.compat.report.page.markup import Html, element, hidden, joined
from rocketwire.compat.report.plain import one_line
from rocketwire.compat.report.score import Score, doubtful, score, side_score
from rocketwire.compat.results import Client, Outcome, Result, Results, Scenario, Side

_BAR: Final = 100
_FINDINGS: Final = frozenset({Outcome.DIFFERS, Outcome.FAILS, Outcome.FLAKY})
_SEEN: Final = 12
"""The scenarios that did not pass and are seen at once; the others are folded."""
_ORDER: Final = (Outcome.PASS, Outcome.FLAKY, Outcome.DIFFERS, Outcome.FAILS)


def head(results: Results) -> Html:
    """What was tested, when, and by what."""
    when = datetime.fromtimestamp(results.started / 1000, UTC)
    facts = [
        ("Name server", element("code", results.endpoint.namesrv)),
        ("Reference", results.reference.name if results.reference else "none"),
        ("Started", element("time", when.strftime("%Y-%m-%d %H:%M UTC"), datetime=when.isoformat(timespec="seconds"))),
        ("Took", _duration(results.seconds)),
        ("Run by", f"rocketwire {results.version}"),
    ]
    return joined(
        element("p", "Compatibility report", class_="eyebrow"),
        element("h1", results.endpoint.name),
        element("dl", *(element("div", element("dt", name), element("dd", value)) for name, value in facts)),
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def scores(results: Results) -> Html:
    """The score in all, and that of each client."""
    found = score(results)
    counts = (
        element("li", sign(each), f" {found.counts[each]} {each}", class_=kind(each, found))
        for each in (*_ORDER, Outcome.NOT_OFFERED)
    )
    reference = ""
    if results.reference is not None:
        total_score = side_score(results, Side.REFERENCE)
        line = f"{results.reference.name}, the reference: {percent(total_score)}"
        reference = element("p", f"{line} ({total_score.passed} of {total_score.offered})", class_="muted")
    total = element(
        "div",
        element("p", percent(found), class_="score", id="score"),
        element("p", f"{found.passed} of {found.offered} scenarios that were offered pass"),
        bar(found),
        element("ul", *counts, class_="counts"),
        reference or Html(""),
        _settings(results),
        class_="card total",
    )
    return element(
        "section",
        element("h2", "Score", id="scores", class_="vh"),
        total,
        element(
            "div",
            _clients(results),
            class_="card scroll-x",
            tabindex=0,
            role="group",
            aria_label="Clients",
        ),
        class_="scores",
        aria_labelledby="scores",
    )


def _settings(results: Results) -> Html:
    if not results.endpoint.settings:
        return Html("")
    lines = (element("li", each) for each in results.endpoint.settings)
    return element("details", element("summary", "The endpoint's settings"), element("ul", *lines))


def _clients(results: Results) -> Html:
    titles = ["Client", "Score", "Passed", "Flaky", "Differs", "Fails", "Not offered"]
    if results.reference:
        titles.append("Reference")
    header = element("tr", *(element("th", each, scope="col") for each in titles))
    rows = (_client(results, each) for each in results.clients)
    return element(
        "table",
        element("caption", "Clients"),
        element("thead", header),
        element("tbody", *rows),
        class_="clients",
    )


def _client(results: Results, client: Client) -> Html:
    found = score(results, client=client.id)
    cells = [
        element("td", element("b", percent(found)), bar(found), class_="scored"),
        element("td", f"{found.passed}/{found.offered}", class_="n"),
        *(_count(found, each) for each in (Outcome.FLAKY, Outcome.DIFFERS, Outcome.FAILS, Outcome.NOT_OFFERED)),
    ]
    if results.reference:
        cells.append(element("td", percent(side_score(results, Side.REFERENCE, client=client.id)), class_="n"))
    about = element("span", f"{client.name} {client.version}, {client.language}, {client.where}", class_="muted about")
    return element("tr", element("th", element("code", client.id), about, scope="row"), *cells)


def _count(found: Score, outcome: Outcome) -> Html:
    number = found.counts[outcome]
    if not number:
        return element("td", "0", class_="n zero")
    return element("td", sign(outcome), f" {number}", class_=f"n k-{LETTERS[outcome]}")


def sign(outcome: Outcome) -> Html:
    """The outcome's symbol, which is not read out."""
    return element("span", SYMBOLS[outcome], class_="sign", aria_hidden="true")


def kind(outcome: Outcome, found: Score) -> str:
    """The class of a count of an outcome: of one that did not happen a calm one."""
    return f"k-{LETTERS[outcome if found.counts[outcome] else Outcome.NOT_OFFERED]}"


def percent(found: Score) -> str:
    """The score, which no line breaks."""
    return found.shown.replace(" ", "\u00a0")


def bar(found: Score) -> Html:
    """The parts of what was offered, as a bar; the numbers stand beside it."""
    parts: list[Html] = []
    x = 0.0
    for outcome in _ORDER:
        width = found.counts[outcome] * _BAR / found.offered if found.offered else 0
        if width:
            parts.append(
                element("rect", x=round(x, 2), width=round(width, 2), height=6, class_=f"bar-{LETTERS[outcome]}")
            )
        x += width
    return element("svg", *parts, class_="bar", viewBox=f"0 0 {_BAR} 6", preserveAspectRatio="none", aria_hidden="true")


def findings(results: Results) -> Html:
    """What did not pass, by scenario and reason; it needs no script."""
    items = list(_findings(results))
    if not items:
        body = element("p", "Everything that was offered passed.")
    else:
        body = element("ul", *items[:_SEEN], class_="findings")
    more = Html("")
    if len(items) > _SEEN:
        title = element("summary", f"{len(items) - _SEEN} more scenarios")
        more = element("details", title, element("ul", *items[_SEEN:], class_="findings"), class_="more")
    wrong = sorted({each.scenario for each in doubtful(results)})
    note = Html("")
    if wrong:
        said = (
            f"The reference does not pass {len(wrong)} of the scenarios, so what they claim is in doubt: "
            f"{', '.join(wrong)}."
        )
        note = element("p", said, class_="notice")
    return element(
        "section", element("h2", "What does not pass", id="findings"), note, body, more, aria_labelledby="findings"
    )


def _findings(results: Results) -> Iterator[Html]:
    """The scenarios that did not pass, those that were but flaky last."""
    order = {each.id: place for place, each in enumerate(results.clients)}
    own: dict[str, list[Result]] = {}
    for each in results.results:
        if each.side is Side.ENDPOINT and each.outcome in _FINDINGS:
            own.setdefault(each.scenario, []).append(each)
    found = [each for each in results.scenarios if each.id in own]
    found.sort(key=lambda each: all(result.outcome is Outcome.FLAKY for result in own[each.id]))
    for scenario in found:
        yield _finding(scenario, sorted(own[scenario.id], key=lambda each: order[each.client]))


def _finding(scenario: Scenario, total_score: list[Result]) -> Html:
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    for each in total_score:
        reasons.setdefault((each.outcome, one_line(each.reason)), []).append(each.client)
    lines = (
        element(
            "li",
            element("span", sign(outcome), f" {outcome}", class_=f"tag k-{LETTERS[outcome]}"),
            " ",
            *_links(scenario, names),
            element("span", reason, class_="reason"),
        )
        for (outcome, reason), names in reasons.items()
    )
    return element(
        "li",
        element("p", element("code", scenario.id), " ", element("span", scenario.proves, class_="muted")),
        element("ul", *lines),
    )


def _links(scenario: Scenario, clients: list[str]) -> Iterator[Html]:
    for client in clients:
        yield element("a", client, hidden(f", {scenario.id}"), href=f"#{scenario.id}/{client}", class_="open")
        yield Html(" ")
