from __future__ import annotations

from pathlib import Path

import pytest

from bench.background import Row, Sample, table
from bench.backlogs import KINDS, Kind, opened


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_store_with_a_backlog_opens_and_nothing_of_it_is_done(kind: Kind, tmp_path: Path) -> None:
    kind.make(tmp_path, 20)
    store = opened(tmp_path)
    assert store.max_physical_offset > 0
    assert kind.progress is None or kind.progress(store) == 0
    store.close()


def test_the_turns_least_disturbed_count() -> None:
    without = [Sample(rate=9.0, fast=200.0, paced=10.0), Sample(rate=10.0, fast=100.0, paced=10.0)]
    beside = [Sample(rate=8.0, fast=150.0, paced=40.0, done=3), Sample(rate=7.0, fast=900.0, paced=30.0, done=5)]
    row = Row(text="work", without=without, beside=beside)
    assert (row.ratio("fast"), row.ratio("paced")) == (1.5, 3.0)
    line = table([row]).splitlines()[-1]
    assert line.startswith("| work | 9 / 10 / 10 | 7 / 8 / 8 | 100 / 150 / 200 | 150 / 525 / 900 | 1.50 <= 2 |")
    assert line.endswith("| 3.00 > 2 | 4 |")
