"""The summary in Markdown, for GITHUB_STEP_SUMMARY and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rocketwire.compat.report.outcomes import SYMBOLS
from rocketwire.compat.report.plain import one_line
from rocketwire.compat.report.score import Score, doubtful, score, side_score
from rocketwire.compat.results import Outcome, Result, Results, Side

_MOST: Final = 50
"""The results that are listed each; a step's summary may have 1 MiB."""
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|#~&$!])")


def markdown(results: Results) -> str:
    """The score, the matrix of clients and features, and what did not pass."""
    found = score(results)
    lines = [f"# Compatibility: {found.shown}", "", _sentence(results, found), ""]
    lines += _matrix(results)
    reported = [each for each in results.results if each.side is Side.ENDPOINT]
    lines += _listed("What does not pass", results, (Outcome.FAILS, Outcome.DIFFERS), reported)
    lines += _listed("Flaky: did not pass, and passed when it ran again", results, (Outcome.FLAKY,), reported)
    lines += _listed("What the reference does not pass", results, tuple(Outcome), doubtful(results))
    return "\n".join(lines) + "\n"


def _sentence(results: Results, found: Score) -> str:
    not_offered = found.counts[Outcome.NOT_OFFERED]
    text = f"{_text(results.endpoint.name)}: {found.passed} of {found.offered} passed"
    if not_offered:
        text += f", {not_offered} not offered"
    if results.reference is not None:
        reference = side_score(results, Side.REFERENCE)
        text += f". {_text(results.reference.name)}, the reference: {reference.shown}"
    return f"{text}. Tested with rocketwire {_text(results.version)} in {results.seconds:.0f} s."


def _matrix(results: Results) -> list[str]:
    clients = [each.id for each in results.clients]
    rows = [["Feature", *(_text(each) for each in clients), "all"]]
    rows.append(["---", *("---:" for _ in clients), "---:"])
    for feature in results.features:
        cells = [_cell(score(results, client=each, feature=feature.id)) for each in clients]
        rows.append([_text(feature.name), *cells, _cell(score(results, feature=feature.id))])
    totals = [score(results, client=each).shown for each in clients]
    rows.append(["**Score**", *(f"**{each}**" for each in totals), f"**{score(results).shown}**"])
    return [f"| {' | '.join(row)} |" for row in rows]


def _cell(found: Score) -> str:
    if not found.offered:
        return SYMBOLS[Outcome.NOT_OFFERED]
    if found.passed == found.offered:
        return f"{found.passed} {SYMBOLS[Outcome.PASS]}"
    worst = Outcome.FAILS if found.counts[Outcome.FAILS] else Outcome.DIFFERS
    return f"{found.passed}/{found.offered} {SYMBOLS[worst]}"


def _listed(title: str, results: Results, outcomes: Iterable[Outcome], reported: Iterable[Result]) -> Iterator[str]:
    places = {each.id: place for place, each in enumerate(results.scenarios)}
    chosen = sorted((each for each in reported if each.outcome in outcomes), key=lambda each: places[each.scenario])
    if not chosen:
        return
    yield from ("", f"## {title}", "")
    for each in chosen[:_MOST]:
        line = f"- {SYMBOLS[each.outcome]} {each.outcome}: **{_text(each.scenario)}**, {_text(each.client)}"
        yield f"{line}: {_text(each.reason)}" if each.reason else line
    if len(chosen) > _MOST:
        yield f"- and {len(chosen) - _MOST} more"


def _text(text: str) -> str:
    """Foreign text without meaning to Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text))
