"""The page of the pipeline, from small figures: complete, well-formed, without scripts or addresses."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from tools.spark_pipeline.charts import bars, lines, number
from tools.spark_pipeline.page import page
from tools.spark_pipeline.traffic_figures import Figures

FIGURES: Final = Figures(
    begins="2026-01-31 12:00:00 UTC",
    step=1.0,
    steps=[0.0, 1.0, 2.0],
    acknowledged=1234,
    rows=1234,
    messages=1234,
    retried=5,
    dead=2,
    kib=900,
    batches=7,
    restarts=1,
    traffic={"Orders": [10.0, 20.0, 0.0], "<Clicks>": [1.0, None, 3.0]},
    stored={"50 %": [2.0, 3.0, 2.0], "99 %": [20.0, 0.0, 25.0]},
    consumed={"50 %": [5.0, None, 7.0]},
    retries={"ledger": [0.0, 4.0, 1.0]},
    letters={"ledger": [0.0, 0.0, 2.0]},
    lag={"ledger": [0.0, 12.0, 0.0]},
    keys=[("customer-0", 21.5), ("a & b", 10.0)],
    different_keys=99,
    causes=[("ledger", "Payments", "exception", 2)],
)
_VOID: Final = {"meta"}


class Tree(HTMLParser):
    """Which elements are open; each must be closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    made = page(FIGURES)
    tree = Tree()
    tree.feed(made)
    tree.close()
    assert tree.open == []
    assert (tree.seen.count("svg"), tree.seen.count("section")) == (7, 8)
    assert "script" not in tree.seen
    assert re.findall(r"(?:src|href)=|url\(|//", made) == []
    assert "exactly once" in made
    assert "&lt;Clicks&gt;" in made
    assert "a &amp; b" in made
    assert "<dd>1,234</dd>" in made


def test_what_came_twice_or_not_at_all_is_reported() -> None:
    made = page(dataclasses.replace(FIGURES, rows=1235))
    assert "exactly once" not in made
    assert "1,235 rows are there, of 1,234 messages" in made


def test_what_never_happened_has_no_plot() -> None:
    made = page(dataclasses.replace(FIGURES, letters={}, causes=[]))
    assert made.count("<svg") == 6
    assert "There were none." in made


@pytest.mark.parametrize("log", [False, True])
def test_lines_have_gaps_and_stay_in_the_frame(log: bool) -> None:
    made = lines("Name", [0.0, 1.0, 2.0, 3.0], {"a": [0.5, None, 2000.0, 3.0]}, unit="ms", log=log)
    (path,) = re.findall(r'class="line c0" d="([^"]*)"', made)
    assert re.sub(r"[0-9. ]", "", path.replace("h0", "")) == "MML"
    places = [(float(x), float(y)) for x, y in re.findall(r"[ML]([0-9.]+) ([0-9.]+)", path)]
    assert all(58 <= x <= 430 and 10 <= y <= 192 for x, y in places)
    assert [x for x, _ in places] == sorted(x for x, _ in places)


@pytest.mark.parametrize("line", [[0.0], [None], [5.0]])
@pytest.mark.parametrize("log", [False, True])
def test_one_step_or_no_value_is_drawn_too(line: list[float | None], log: bool) -> None:
    assert lines("Name", [0.0], {"a": line}, unit="ms", log=log).count("<svg") == 1


def test_bars_are_as_long_as_their_values() -> None:
    made = bars("Name", [("a", 20.0), ("b", 10.0), ("c", 0.0)], unit="%")
    whole, half, none = map(float, re.findall(r'width="([0-9.]+)"', made))
    assert (whole, none) == (2 * half, 0.0)


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0.0, 0.25, 12.345, 1500.0, 20_000)] == ["0", "0.25", "12.3", "1,500", "20,000"]


def test_a_micro_batch_is_in_the_delta_table_once(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pytest.importorskip("deltalake").DeltaTable
    stream = pytest.importorskip("tools.spark_pipeline.stream")
    commits = stream.DeltaCommits(tmp_path / "messages")

    def commit(number: int, *offsets: int) -> None:
        rows = [{"topic": "%RETRY%g", "day": "2026-01-31", "queue_offset": offset} for offset in offsets]
        batch: Any = SimpleNamespace(toArrow=lambda: pa.Table.from_pylist(rows))
        commits(batch, number)

    commit(0, 1, 2)
    commit(1, 3)
    commit(1, 3)  # a query that was stopped after the commit does it again
    commit(2, 4)
    found = table(str(tmp_path / "messages")).to_pyarrow_table()
    assert sorted(found["queue_offset"].to_pylist()) == [1, 2, 3, 4]
    assert set(found["topic"].to_pylist()) == {"%RETRY%g"}
