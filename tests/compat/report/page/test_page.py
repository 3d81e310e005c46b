"""What the page's HTML holds; what it does in a browser is in compat_tests/test_compat_report.py."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.compat.report.page import page
from rocketwire.compat.report.plain import plain
from rocketwire.compat.results import Outcome, Results, Side
from tests.compat.report.examples import HOSTILE, hostile, large, small

VOID = {"input", "meta", "wbr"}


class Reader(HTMLParser):
    """Checks that elements are closed in their order, and collects them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def data_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


@pytest.mark.parametrize(
    "results", [large(clients=2), small(), small(*Outcome, reference=True)], ids=["large", "none", "small"]
)
def test_the_page_is_well_formed_and_needs_nothing_else(results: Results) -> None:
    read = Reader(page(results))
    for tag, attributes in read.found:
        assert tag not in {"link", "img", "iframe", "object"}
        assert "src" not in attributes
        assert "style" not in attributes, "the policy forbids it"
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for _, attributes in read.found if "href" in attributes}
    assert {each for each in targets if each and "/" not in each} <= {f"#{each}" for each in ids}


def test_each_result_is_a_cell_of_the_table() -> None:
    results = large(clients=3)
    text = page(results)
    body = text[text.index('id="by-scenario"') :]
    words = dict(re.findall(r'<span class="sign" aria-hidden="true">(.)</span><span class="vh">([\w ]+)</span>', body))
    assert words == {"✓": "pass", "≠": "differs", "✗": "fails", "↻": "flaky", "\u2013": "not offered"}
    cells = re.findall(r'<td class="(\w)( ref)?" data-client="(\d)">', body)
    reported = [(each.outcome, each.side) for each in results.results]
    for letter, outcome in zip("pdfyn", Outcome, strict=True):
        for mark, side in (("", Side.ENDPOINT), (" ref", Side.REFERENCE)):
            found = sum(cell[0] == letter and cell[1] == mark for cell in cells)
            assert found == reported.count((outcome, side))


def test_evidence_is_packed_whole_where_it_is_small() -> None:
    results = small(Outcome.FAILS, reason="why")
    text = page(results)
    assert 'id="cut"' not in text
    (scenario,) = data_of(text)["scenarios"]
    assert json.loads(zlib.decompress(base64.b64decode(scenario["block"]))) == {
        "java-4.9.7/endpoint": {
            "attempts": [{"passed": False, "seconds": 1.0, "error": "why", "log": "why", "frames": [], "of": 0}],
            "diff": [],
            "diffs": 0,
        }
    }


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=20))
def test_no_text_becomes_markup(text: str) -> None:
    plainest = Reader(page(hostile("x")))
    read = Reader(page(hostile(text)))
    assert [tag for tag, _ in read.found if tag != "wbr"] == [tag for tag, _ in plainest.found if tag != "wbr"]


def test_hostile_text_is_shown_as_it_is() -> None:
    text = page(hostile())
    assert HOSTILE not in text
    assert "\u2028" not in text
    assert "\x00" not in text
    read = Reader(text)
    assert [data for tag, data in read.texts if tag == "h1"] == [plain(HOSTILE)]
    data = data_of(text)
    assert data["endpoint"] == data["scenarios"][0]["id"] == data["clients"][0] == plain(HOSTILE)


def test_a_page_that_would_be_too_large_shows_what_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    results = large(clients=1, bad=0.5, evidence=4)
    whole = len(page(results).encode())
    monkeypatch.setattr("rocketwire.compat.report.page.document._LARGEST", whole - 1)
    text = page(results)
    assert len(text.encode()) < whole
    assert re.search(r'id="cut">Kept here are at most [\d,]+ characters of a log', text)
