from pathlib import Path

import pytest

from bench import filters
from bench.workloads import SQL
from rocketwire.server.filters.sql import compile_sql
from rocketwire.wire.properties import decode_properties


def test_the_texts_are_those_of_stored_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "MESSAGES", 100)
    texts = filters.stored_texts(tmp_path)
    found = [decode_properties(text.decode()) for text in texts]
    assert [one["a"] for one in found] == [str(number % 10) for number in range(100)]
    assert {tuple(one) for one in found} == {("a", "b", "UNIQ_KEY", "TAGS", "CLUSTER")}
    rate, passed = filters.evaluations(compile_sql(SQL).wanted, texts)
    assert rate > 0
    assert passed == 20


def test_a_table_of_all_expressions_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(filters, "MESSAGES", 100)
    monkeypatch.setattr("sys.argv", ["bench.filters", str(tmp_path)])
    filters.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line[:48].rstrip() for line in lines[2:-1]] == list(filters.EXPRESSIONS)
    assert lines[2].split()[-1] == "20%"
    assert list(tmp_path.iterdir()) == []
