"""The page: its parts, put together with the style and the script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

import msgspec

from rocketwire.compat.report.outcomes import LETTERS, MEANINGS, SYMBOLS
from rocketwire.compat.report.page import matrices, summary
from rocketwire.compat.report.page.evidence import NOTHING, Evidence, evidence
from rocketwire.compat.report.page.markup import Html, element, joined
from rocketwire.compat.report.plain import one_line, plain
from rocketwire.compat.report.score import score
from rocketwire.compat.results import Outcome, Results

_LARGEST: Final = 2_900_000
"""The bytes that the page may have, about."""

_KEYS: Final = (
    ("/", "search"),
    ("arrows, Home, End", "move in a table, once it has the focus"),
    ("Enter or Space", "open the cell: evidence, or the filter for a count"),
    ("n, p", "in the evidence: next and previous result that does not pass"),
    ("Esc", "close, or clear the search"),
    ("?", "this list"),
)


def page(results: Results) -> str:
    """The whole page, below 3 MB: evidence that would make it larger is cut, with a notice."""
    bare = _rendered(results, NOTHING)
    return _rendered(results, evidence(results, _LARGEST - len(bare.encode())))


def _rendered(results: Results, found: Evidence) -> str:
    style, script = _source("page.css"), _source("page.js")
    body = element(
        "body",
        element("a", "Skip to the scenarios", href="#scenarios", class_="skip"),
        element("header", element("div", summary.head(results)), _buttons(), class_="top"),
        element(
            "main",
            _cut_notice(found),
            summary.scores(results),
            _features(results),
            summary.findings(results),
            _scenarios(results),
        ),
        _footer(),
        _evidence_dialog(),
        _help_dialog(),
        element("script", _data(results, found), type="application/json", id="data"),
        element("script", script),
    )
    top = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{score(results).shown}: {results.endpoint.name}, compatibility"),
        element("style", style),
    )
    return f"<!doctype html>\n{element('html', top, body, lang='en')}\n"


def _source(name: str) -> Html:
    return Html(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and nothing runs but the page's own script."""
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script)]
    return f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"


def _data(results: Results, found: Evidence) -> Html:
    """What the script needs, as JSON without a `<`, so that nothing in it can end the element."""
    data: dict[str, Any] = {
        "clients": [plain(each.id) for each in results.clients],
        "reference": plain(results.reference.name) if results.reference else None,
        "endpoint": plain(results.endpoint.name),
        "scenarios": [
            {
                "id": plain(each.id),
                "proves": plain(each.proves),
                "source": plain(each.source),
                "needs": [plain(need) for need in each.needs],
                "limit": each.limit,
                "ours": each.ours_only,
                "block": found.blocks.get(each.id),
            }
            for each in results.scenarios
        ],
        "results": [
            [
                plain(each.scenario),
                plain(each.client),
                each.side,
                LETTERS[each.outcome],
                one_line(each.reason),
                round(each.seconds, 3),
            ]
            for each in results.results
        ],
        "outcomes": {LETTERS[each]: [each, SYMBOLS[each]] for each in Outcome},
    }
    return Html(plain(msgspec.json.encode(data).decode()).replace("<", "\\u003c"))


def _buttons() -> Html:
    return element(
        "div",
        element("button", "Theme: auto", type="button", id="theme"),
        element("button", "Keys ", element("kbd", "?", aria_hidden="true"), type="button", id="keys"),
        class_="buttons scripted",
    )


def _cut_notice(found: Evidence) -> Html:
    if not found.was_cut:
        return Html("")
    return element("p", f"{found.limits}. The file results.json has all of it.", class_="notice", id="cut")


def _features(results: Results) -> Html:
    return element(
        "section",
        element("h2", "By feature", id="features"),
        element(
            "div",
            matrices.features(results),
            class_="card scroll",
            tabindex=0,
            role="group",
            aria_labelledby="features",
        ),
        aria_labelledby="features",
    )


def _scenarios(results: Results) -> Html:
    return element(
        "section",
        element("h2", "Scenarios", id="scenarios", tabindex=-1),
        _legend(),
        _filters(results),
        element(
            "div",
            matrices.scenarios(results),
            class_="card scroll tall",
            tabindex=0,
            role="group",
            aria_labelledby="scenarios",
        ),
        element("p", "No scenario matches the filters.", id="nothing", hidden=True),
        aria_labelledby="scenarios",
    )


def _legend() -> Html:
    entries = (
        element(
            "li", element("span", summary.sign(each), f" {each}", class_=f"tag k-{LETTERS[each]}"), f" {MEANINGS[each]}"
        )
        for each in Outcome
    )
    return element("details", element("summary", "What the signs mean"), element("ul", *entries), class_="legend")


def _filters(results: Results) -> Html:
    found = score(results)
    outcomes = (
        _check(
            "outcome",
            LETTERS[each],
            joined(summary.sign(each), f" {each} ", element("small", str(found.counts[each]))),
            summary.kind(each, found),
        )
        for each in Outcome
    )
    clients = (_check("client", str(place), element("span", each.id)) for place, each in enumerate(results.clients))
    features = (_check("feature", str(place), element("span", each.name)) for place, each in matrices.used(results))
    search = element(
        "label",
        element("span", "Search ", element("kbd", "/", aria_hidden="true")),
        element("input", type="search", id="search", placeholder="id, claim, source, reason", autocomplete="off"),
        class_="search",
    )
    reference = (
        _check("reference", "1", element("span", "Show the reference"), "switch", checked=True)
        if results.reference
        else ""
    )
    return element(
        "form",
        search,
        _boxes("Outcome", outcomes),
        _boxes("Client", clients),
        _boxes("Feature", features),
        element(
            "p",
            element("output", "", id="shown", role="status"),
            reference,
            element("button", "Show all", type="reset"),
            class_="line",
        ),
        class_="filters card scripted",
        id="filters",
        role="search",
        aria_label="Filters of the scenarios",
    )


def _boxes(title: str, boxes: Iterable[Html]) -> Html:
    return element("fieldset", element("legend", title), element("div", *boxes, class_="chips"))


def _check(name: str, value: str, content: Html, class_: str = "", *, checked: bool = False) -> Html:
    box = element("input", type="checkbox", name=name, value=value, checked=checked)
    return element("label", box, content, class_=f"chip {class_}".strip())


def _footer() -> Html:
    said = "This page is complete in itself: it loads nothing. results.json beside it has the same for programs."
    return element("footer", element("p", said, class_="muted"))


def _evidence_dialog() -> Html:
    buttons = (
        element("button", "Previous", type="button", id="previous", aria_keyshortcuts="p"),
        element("button", "Next", type="button", id="next", aria_keyshortcuts="n"),
        element("button", "Close", type="button", id="close", aria_keyshortcuts="Escape"),
    )
    bar = element("div", element("span", "", id="which", class_="muted"), *buttons, class_="bar-top")
    body = element("div", id="evidence-body", tabindex=-1)
    return element("dialog", bar, body, id="evidence", aria_labelledby="evidence-title")


def _help_dialog() -> Html:
    keys = (element("div", element("dt", element("kbd", keys)), element("dd", what)) for keys, what in _KEYS)
    single = _check("single", "1", element("span", "Single keys work"), checked=True)
    return element(
        "dialog",
        element("h2", "Keys", id="help-title"),
        element("dl", *keys),
        element("p", single),
        element("button", "Close", type="button", id="help-close"),
        id="help",
        aria_labelledby="help-title",
    )
