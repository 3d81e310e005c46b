from pathlib import Path

import pytest

from rocketwire.compat.report import files
from rocketwire.compat.report.files import write_report
from rocketwire.compat.results import Outcome, from_json
from tests.compat.report.examples import hostile, small


def test_halves_of_pairs_do_not_stop_the_report(tmp_path: Path) -> None:
    written = write_report(hostile("a \udcff b"), tmp_path)
    assert all(path.read_bytes().decode("utf-8") for path in written)


def test_the_results_are_written_even_if_a_report_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(files, "WRITERS", {**files.WRITERS, "report.html": broken})
    with pytest.raises(ZeroDivisionError):
        write_report(small(Outcome.PASS), tmp_path)
    assert from_json((tmp_path / "results.json").read_bytes()) == small(Outcome.PASS)
