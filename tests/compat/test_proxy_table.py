"""The table of docs/proxy.md, whose rows the catalogue's runs through a proxy write."""

from __future__ import annotations

import pytest

from compat_tests.proxied import APACHE_4, OURS
from compat_tests.proxy_table import Found, Row, brought_up_to_date
from compat_tests.readme import ROOT
from rocketwire.compat.results import Outcome, Result, Side
from tools.generated import MarkerMissing

_PAGE = ROOT / "docs" / "proxy.md"


def found(scenario: str, outcome: Outcome, direct: Outcome | None = None) -> Found:
    return Found(result=result(scenario, outcome), direct=None if direct is None else result(scenario, direct))


def result(scenario: str, outcome: Outcome) -> Result:
    return Result(scenario=scenario, client="go-2.1", side=Side.ENDPOINT, outcome=outcome, reason="", seconds=1.0)


def test_a_row_counts_and_names_what_did_not_pass() -> None:
    row = Row.of(
        "go-2.1",
        APACHE_4,
        [
            found("send.sync", Outcome.PASS),
            found("send.async", Outcome.FLAKY),
            found("pop.shared", Outcome.NOT_OFFERED),
            found("push.woken", Outcome.FAILS, Outcome.PASS),
            found("order.all", Outcome.DIFFERS, Outcome.DIFFERS),
        ],
    )
    assert row.cells == (
        "`go-2.1`",
        "two of Apache 4.9.7",
        "2 / 4",
        "1",
        "`order.all` (nor without the proxy), `push.woken`",
    )


@pytest.mark.parametrize(
    ("outcome", "direct", "by_proxy"),
    [
        (Outcome.DIFFERS, Outcome.FAILS, False),
        (Outcome.DIFFERS, Outcome.PASS, True),
        (Outcome.FAILS, Outcome.FLAKY, True),
        (Outcome.PASS, None, False),
        (Outcome.NOT_OFFERED, None, False),
    ],
)
def test_what_passes_without_the_proxy_fails_by_it(outcome: Outcome, direct: Outcome | None, by_proxy: bool) -> None:
    assert found("send.sync", outcome, direct).by_proxy is by_proxy


def test_rows_replace_those_of_the_same_client_and_brokers() -> None:
    page = _PAGE.read_text("utf-8")
    old, ours = (Row.of("go-2.1", kind, []) for kind in (APACHE_4, OURS))
    new = Row.of("go-2.1", APACHE_4, [found("send.sync", Outcome.PASS)])
    before = brought_up_to_date(page, [old, ours])
    after = brought_up_to_date(before, [new])
    assert after == before.replace(" | ".join(old.cells), " | ".join(new.cells))
    assert after.count("two of Apache 4.9.7 | 1 / 1 | 0 | - |") == 1


def test_the_page_stays_as_it_is_without_new_rows() -> None:
    page = _PAGE.read_text("utf-8")
    assert brought_up_to_date(page, []) == page


def test_a_page_without_the_markers_is_refused() -> None:
    with pytest.raises(MarkerMissing):
        brought_up_to_date("# Another page\n", [])
