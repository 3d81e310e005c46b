"""The report's page in headless Chromium: keys, clicks, filters, evidence, accessibility, sizes, and no errors.

Where ROCKETWIRE_SCREENSHOTS names a folder, it gets pictures of the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.browser_page import Page
from compat_tests.chromium import Browser, axe
from rocketwire.compat.report.files import write_report
from rocketwire.compat.report.page import page as written
from rocketwire.compat.results import Outcome, Results, Side
from tests.compat.report.examples import HOSTILE, hostile, large

RESULTS = large()
MEGABYTES_3 = 3_000_000
PHONE = (390, 844)


def cell_of(results: Results, outcome: Outcome) -> tuple[int, int]:
    """Scenario and client of the first result with an outcome, in the order of the table."""
    scenarios = [each.id for each in results.scenarios]
    clients = [each.id for each in results.clients]
    return min(
        (scenarios.index(each.scenario), clients.index(each.client))
        for each in results.results
        if each.outcome is outcome and each.side is Side.ENDPOINT
    )


def place(scenario: int, client: int) -> str:
    """The selector of the endpoint's cell."""
    return f'tr[data-scenario="{scenario}"] td[data-client="{client}"]'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    write_report(RESULTS, folder)
    return (folder / "report.html").as_uri()


@pytest.fixture
def page(browser: Browser, report: str) -> Iterator[Page]:
    """The page, freshly opened; nothing may go wrong on it until the test's end."""
    opened = Page(browser)
    opened.prefer(reduced_motion="reduce")
    opened.open(report)
    yield opened
    assert opened.trouble() == []
    opened.close()


def shot(page: Page, name: str) -> None:
    """Keep a screenshot where ROCKETWIRE_SCREENSHOTS names a folder."""
    if folder := os.environ.get("ROCKETWIRE_SCREENSHOTS"):
        page.screenshot(Path(folder) / f"{name}.png")


def violations(page: Page) -> list[str]:
    """What axe-core finds."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map("
        "(v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')))"
    )
    assert isinstance(found, list)
    return found


def opened(page: Page) -> None:
    """Wait until the evidence is unpacked."""
    page.until("document.querySelector('#evidence[open] .side') !== null")


def test_the_top_shows_what_was_tested_and_how_it_went(page: Page) -> None:
    shot(page, "top-light")
    assert page.text("h1") == "rocketwire 0.1.0"
    assert page.text("#score").replace("\xa0", " ") == "96 %"
    assert "Apache RocketMQ 4.9.7" in page.text(".top dl")
    assert page.count(".clients tbody tr") == len(RESULTS.clients)
    assert page.text(".clients tbody tr:nth-child(4)").startswith("go-2.1.0")


def test_the_tables_can_be_read_without_a_script(page: Page, report: str) -> None:
    page.scripts(run=False)
    page.open(report)
    assert page.count("tr[data-scenario]") == len(RESULTS.scenarios)
    assert page.text(place(*cell_of(RESULTS, Outcome.DIFFERS))).split() == ["≠", "differs"]
    assert page.count(".scripted") == 0, "what needs the script is not shown"
    assert page.count(".findings a") > 0


def test_filters_by_outcome_client_and_feature_add_up(page: Page) -> None:
    page.click('input[name="outcome"][value="f"]')
    failed = {each.scenario for each in RESULTS.results if each.outcome is Outcome.FAILS and each.side is Side.ENDPOINT}
    assert page.count("tr[data-scenario]") == len(failed)
    assert page.text("#shown") == f"Shown: {len(failed)} of {len(RESULTS.scenarios)} scenarios, 8 clients"
    page.click('input[name="client"][value="3"]')
    of_go = [
        each
        for each in RESULTS.results
        if each.outcome is Outcome.FAILS and each.client == "go-2.1.0" and each.side is Side.ENDPOINT
    ]
    assert page.count("tr[data-scenario]") == len(of_go)
    assert page.count("tr[data-scenario] td") == 2 * len(of_go), "the endpoint's column, and the reference's"
    page.click('input[name="reference"]')
    assert page.count("tr[data-scenario] td") == len(of_go)
    shot(page, "filtered")
    page.click('input[name="feature"][value="1"]')
    assert page.count("tr[data-scenario]") == sum(each.scenario.startswith("pull.") for each in of_go)
    page.click('button[type="reset"]')
    page.until(f"document.getElementById('shown').value.startsWith('Shown: {len(RESULTS.scenarios)} of')")
    assert page.count("tr[data-scenario]") == len(RESULTS.scenarios)


def test_slash_searches_and_escape_clears(page: Page) -> None:
    page.press("/")
    page.write("SQL between")
    assert page.count("tr[data-scenario]") == 1
    assert page.text("tr[data-scenario]:not([hidden]) code") == "filters.sql-between"
    page.write(" nothing of this")
    assert page.text("#nothing") == "No scenario matches the filters."
    page.press("Escape")
    assert page.count("tr[data-scenario]") == len(RESULTS.scenarios)


def test_a_click_on_a_cell_opens_its_evidence(page: Page) -> None:
    scenario, client = cell_of(RESULTS, Outcome.DIFFERS)
    page.click(place(scenario, client))
    opened(page)
    title = f"{RESULTS.scenarios[scenario].id} · {RESULTS.clients[client].id}"
    assert page.text("#evidence-title") == title
    assert page.text(".side .reason") == "expected queue offsets [0, 1, 2, 3], found [0, 1, 3]"
    assert page.count(".side") == 2, "the reference stands beside it"
    assert page.text(".side:nth-child(2) .tag").split() == ["✓", "pass"]
    assert "AssertionError: expected queue offsets" in page.text(".side pre")
    assert page.count(".diff li") == 0, "folded"
    page.click(".diff > summary")
    assert page.text(".diff h3") == "PULL_MESSAGE answer 3, header nextBeginOffset"
    assert [page.text(f".diff figure:nth-child({number}) mark") for number in (1, 2)] == ["4", "3"]
    shot(page, "evidence")
    page.click(".attempt:last-child > summary")
    page.click(".attempt:last-child .inside > details:last-child > summary")
    page.until("document.querySelector('.frames') !== null")
    assert page.count(".frames > li") == 24
    page.click(".frames summary")
    assert "language: JAVA" in page.text(".frames pre")
    assert violations(page) == []


def test_the_keyboard_is_enough(page: Page) -> None:
    page.evaluate("document.getElementById('scenarios').focus()")
    for _ in range(60):
        page.press("Tab")
        if page.evaluate("document.activeElement.closest('#by-scenario') !== null"):
            break
    at = "(({parentElement: r, dataset: d}) => [r.dataset.scenario, d.client])(document.activeElement)"
    assert page.evaluate(at) == ["0", "0"]
    page.press("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp")
    assert page.evaluate(at) == ["1", "1"]
    assert page.evaluate("document.activeElement.classList.contains('ref')")
    page.press("End", ctrl=True)
    assert page.evaluate(at) == [str(len(RESULTS.scenarios) - 1), "7"]
    page.press("Home")
    assert page.evaluate("document.activeElement.tagName") == "TH"
    page.press("Home", ctrl=True)
    page.press("Enter")
    page.until("document.querySelector('#evidence[open] .overview') !== null")
    assert page.count(".overview tbody tr") == len(RESULTS.clients)
    page.press("Escape")
    assert page.count("#evidence") == 0
    assert page.evaluate("document.activeElement.tagName") == "TH", "the focus is where it was"
    assert page.count("[tabindex='0']#by-scenario td, #by-scenario [tabindex='0']") == 1, "one stop of Tab"
    page.press("?")
    assert page.text("#help h2") == "Keys"
    shot(page, "help")
    page.press("Escape")
    assert page.count("#help") == 0


def test_n_and_p_go_through_what_did_not_pass(page: Page) -> None:
    first = page.evaluate("document.querySelector('.findings a').getAttribute('href')")
    page.click(".findings a")
    opened(page)
    seen = [page.text("#evidence-title")]
    assert page.text("#which").startswith("Finding 1 of ")
    page.press("n", "n")
    opened(page)
    seen.append(page.text("#evidence-title"))
    assert page.text("#which").startswith("Finding 3 of ")
    page.press("p", "p")
    opened(page)
    assert page.text("#evidence-title") == seen[0] != seen[1]
    assert page.evaluate("decodeURIComponent(location.hash)") == first
    assert page.evaluate("document.getElementById('previous').disabled")


def test_an_address_opens_the_evidence(page: Page, report: str) -> None:
    page.open(f"{report}#send.large/go-2.1.0")
    opened(page)
    assert page.text("#evidence-title") == "send.large · go-2.1.0"
    page.press("Escape")
    assert page.evaluate("location.hash") == ""


def test_a_count_leads_to_its_scenarios(page: Page) -> None:
    page.click('#by-feature tr[data-feature="0"] td[data-client="3"]')
    assert page.count("tr[data-scenario]") == 10
    assert page.text("#shown") == f"Shown: 10 of {len(RESULTS.scenarios)} scenarios, 1 client"


def test_the_theme_follows_the_system_until_one_is_chosen(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.prefer(color_scheme="dark", reduced_motion="reduce")
    dark = page.evaluate(colour)
    assert light != dark
    shot(page, "top-dark")
    page.click("#theme")
    assert page.text("#theme") == "Theme: light"
    assert page.evaluate(colour) == light
    page.click("#theme")
    page.prefer(reduced_motion="reduce")
    assert page.evaluate(colour) == dark
    page.click("#theme")
    assert page.evaluate(colour) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, tmp_path: Path, scheme: str) -> None:
    write_report(large(clients=2), tmp_path)  # axe checks each cell
    page = Page(browser)
    page.prefer(color_scheme=scheme, reduced_motion="reduce")
    page.open((tmp_path / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    shot(page, f"axe-{scheme}")
    assert violations(page) == []
    page.resize(*PHONE, phone=True)
    page.click("#keys")
    assert violations(page) == []
    page.close()


def test_what_can_be_used_has_a_name(page: Page) -> None:
    used = {"button", "checkbox", "searchbox", "link", "gridcell", "rowheader", "columnheader", "grid", "dialog"}
    roles = page.roles()
    assert [role for role, name in roles if role in used and not name.strip()] == []
    assert ("gridcell", "differs") in roles
    assert ("grid", "Outcome of each scenario for each client") in roles
    assert ("searchbox", "Search") in roles
    assert ("checkbox", "fails 17") in roles


def test_it_fits_a_phone(page: Page, report: str) -> None:
    page.resize(*PHONE, scale=2, phone=True)
    page.open(report)
    shot(page, "phone-top")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
    page.evaluate("document.getElementById('scenarios').scrollIntoView()")
    shot(page, "phone-scenarios")
    page.click(place(*cell_of(RESULTS, Outcome.FAILS)))
    opened(page)
    shot(page, "phone-evidence")
    assert page.evaluate("document.getElementById('evidence').getBoundingClientRect().width") == PHONE[0]
    assert page.evaluate("(({scrollWidth: s, clientWidth: c}) => s - c)(document.getElementById('evidence-body'))") == 0


def test_a_print_has_all_rows_and_no_controls(page: Page) -> None:
    page.resize(1046, 718)  # A4, less its margins
    page.media("print")
    shot(page, "print")
    assert page.count(".scripted") == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1046, "nothing is cut off at the edge"
    scroller = "document.querySelector('.tall')"
    assert page.evaluate(f"{scroller}.scrollHeight === {scroller}.clientHeight"), "nothing is scrolled away"


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(written(hostile()), encoding="utf-8")
    page = Page(browser)
    page.open(file.as_uri())
    page.click("#by-scenario td")
    opened(page)
    page.evaluate("document.querySelectorAll('#evidence details').forEach((each) => { each.open = true; })")
    page.until("document.querySelector('.frames') !== null && document.querySelector('.diff li') !== null")
    shown = "<script>alert(1)</script> </SCRIPT><!-- \" ' & \\u2028 \\u202e  \\u0000 ]]> --> `|` \\ {{7*7}}"
    assert page.evaluate("document.querySelector('h1').textContent") == shown
    assert page.evaluate("document.querySelector('.frames pre').textContent") == shown
    assert page.evaluate("document.querySelector('.diff pre').textContent") == shown
    assert page.count("#by-scenario script, #evidence script") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert HOSTILE not in file.read_text(encoding="utf-8")
    assert violations(page) == []
    assert page.trouble() == []
    page.close()


def test_much_evidence_is_cut_with_a_notice(browser: Browser, tmp_path: Path) -> None:
    results = large(clients=4, bad=1, evidence=6)
    file = tmp_path / "report.html"
    file.write_text(written(results), encoding="utf-8")
    assert 1_000_000 < file.stat().st_size < MEGABYTES_3
    page = Page(browser)
    page.open(file.as_uri())
    assert "The file results.json has all of it." in page.text("#cut")
    page.click(place(*cell_of(results, Outcome.FAILS)))
    opened(page)
    shot(page, "much")
    page.evaluate("document.querySelectorAll('.attempt details').forEach((each) => { each.open = true; })")
    page.until("document.querySelectorAll('.attempt pre').length >= 4")
    assert "characters are cut here; results.json has them" in page.evaluate("document.body.textContent")
    assert "kept, from both ends" in page.evaluate("document.body.textContent")
    assert page.trouble() == []
    page.close()
