"""The ledger of an export: what it remembers, what it refuses, and that a commit is whole whenever it is cut short."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.errors import ExportImpossible
from rocketwire.spark.export.ledger import ExportedSpan, ExportLedger, Range, merged, missing

SELECTION = {"topics": ["T"], "since": None}


def finish(ledger: ExportLedger, start: int, end: int, *names: str, mark: tuple[int, int] | None = None) -> None:
    for name in names:
        (ledger.run / name).write_text(f"{start}", encoding="utf-8")
    files = tuple((name, f"topic=T/{start}-{name}") for name in names)
    ledger.commit([ExportedSpan(broker="b", span=(start, end), files=files, mark=mark)])


def test_what_is_committed_is_done_and_in_its_place(tmp_path: Path) -> None:
    with ExportLedger(tmp_path / "to", SELECTION) as ledger:
        assert ledger.done("b") == []
        finish(ledger, 0, 10, "x", mark=(7, 1000))
        finish(ledger, 20, 30, "x", "y", mark=(25, 3000))
        finish(ledger, 10, 20, mark=(15, 2000))
    with ExportLedger(tmp_path / "to", SELECTION) as ledger:
        assert ledger.done("b") == [(0, 30)]
        assert ledger.done("other") == []
        assert ledger.marks == {"b": (25, 3000)}
    assert {path.name for path in (tmp_path / "to" / "topic=T").iterdir()} == {"0-x", "20-x", "20-y"}
    assert {path.name for path in (tmp_path / "to" / "_rocketwire").iterdir()} == {"done.json", "lock"}


def test_two_runs_at_a_time_are_refused(tmp_path: Path) -> None:
    with ExportLedger(tmp_path, SELECTION), pytest.raises(ExportImpossible, match="another export"):
        ExportLedger(tmp_path, SELECTION)
    ExportLedger(tmp_path, SELECTION).close()


def test_another_selection_is_refused(tmp_path: Path) -> None:
    with ExportLedger(tmp_path, SELECTION) as ledger:
        finish(ledger, 0, 10, "x")
    with pytest.raises(ExportImpossible, match=r"topics \['T'\], not \['U'\]"):
        ExportLedger(tmp_path, {**SELECTION, "topics": ["U"]})


def test_a_run_that_exported_nothing_decides_nothing(tmp_path: Path) -> None:
    ExportLedger(tmp_path, {**SELECTION, "topics": "all"}).close()
    with ExportLedger(tmp_path, SELECTION) as ledger:
        finish(ledger, 0, 10, "x")
    with pytest.raises(ExportImpossible, match=r"with topics \['T'\], not 'all'"):
        ExportLedger(tmp_path, {**SELECTION, "topics": "all"})


@pytest.mark.parametrize(
    ("text", "what"), [("{", "cannot be read"), (json.dumps({"version": 99}), "another version of rocketwire")]
)
def test_a_ledger_that_is_not_understood_is_refused(tmp_path: Path, text: str, what: str) -> None:
    ExportLedger(tmp_path, SELECTION).close()
    (tmp_path / "_rocketwire" / "done.json").write_text(text, encoding="utf-8")
    with pytest.raises(ExportImpossible, match=what):
        ExportLedger(tmp_path, SELECTION)


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)).map(lambda one: (one[0], one[0] + one[1])))


def offsets(ranges: list[Range]) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}


@given(RANGES)
def test_merged_ranges_are_the_same_offsets_apart_from_each_other(ranges: list[Range]) -> None:
    found = merged(ranges)
    assert offsets(found) == offsets(ranges)
    assert all(left[1] < right[0] for left, right in pairwise(found))


@given(st.integers(0, 40), st.integers(0, 40), RANGES)
def test_what_is_missing_is_all_that_is_not_done(start: int, length: int, ranges: list[Range]) -> None:
    found = missing(start, start + length, merged(ranges))
    assert offsets(found) == set(range(start, start + length)) - offsets(ranges)
    assert all(first < last for first, last in found)
