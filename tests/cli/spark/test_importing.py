"""The command's options, endings and texts; compat_tests/spark/test_import.py has what Spark does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli import main
from rocketwire.spark import importing
from rocketwire.spark.errors import OptionInvalid
from rocketwire.spark.importing import TableSource


class FakeSession:
    """Takes the place of the one that starts Spark."""

    settings: dict[str, str]

    def __init__(self, master: str, log: Path, settings: dict[str, str]) -> None:
        assert log.parent.is_dir()
        FakeSession.settings = settings

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def short_errors(self) -> Any:
        return self

    def started(self) -> object:
        return "a session"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    def import_rows(*arguments: Any) -> int:
        found.append(arguments)
        if arguments[1].path == "bad":
            raise OptionInvalid("the table has no column body", "Select one")
        return 1234 * (len(found) == 1)

    monkeypatch.setattr("rocketwire.cli.spark.session.SparkRun", FakeSession)
    monkeypatch.setattr(importing, "import_rows", import_rows)
    return found


def run(*arguments: object) -> int:
    return main(["spark", "import", *map(str, arguments)])


def test_rows_are_counted(calls: list[tuple[Any, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", "--checkpoint", tmp_path / "state", "--namesrv", "h:1", "--topic", "T") == 0
    assert run("table", "--checkpoint", tmp_path / "state") == 0
    assert capsys.readouterr().out == "1,234 rows sent\nthere is no new row\n"
    session, source, target, checkpoint = calls[0]
    assert (session, source, checkpoint) == ("a session", TableSource(path="table"), str(tmp_path / "state" / "stream"))
    assert target == {"namesrv": "h:1", "endpointTimeoutMs": "15000", "topic": "T"}
    assert "topic" not in calls[1][2]
    assert FakeSession.settings == importing.settings("parquet")


def test_all_options(calls: list[tuple[Any, ...]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_format = ("--format", "delta", "--option", "startingVersion=3", "--conf", "spark.jars=a=b")
    account = ("--access-key", "me", "--secret-key", "s")
    columns = ("--select", "'T' topic", "--select", "x body", "--json")
    assert run("table", "--checkpoint", tmp_path, *of_format, *account, *columns) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 1234}
    _, source, target, _ = calls[0]
    options = {"startingVersion": "3"}
    assert source == TableSource(path="table", format="delta", options=options, select=("'T' topic", "x body"))
    assert (target["accessKey"], target["secretKey"]) == ("me", "s")
    assert FakeSession.settings == {**importing.settings("delta"), "spark.jars": "a=b"}
    assert "spark.sql.extensions" in FakeSession.settings


def test_a_table_of_a_catalog(calls: list[tuple[Any, ...]], tmp_path: Path) -> None:
    assert run("shop.orders", "--checkpoint", tmp_path, "--format", "iceberg", "--catalog", "lake") == 0
    assert calls[0][1] == TableSource(path="shop.orders", format="iceberg", catalog="lake")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("bad",), "the table has no column body. Select one"),
        (("t", "--conf", "spark.jars"), "--conf spark.jars: expected KEY=VALUE"),
        (("t", "--option", "=3"), "--option =3: expected KEY=VALUE"),
        (("t", "--tls"), "does not encrypt"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    calls: list[tuple[Any, ...]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    what: str,
) -> None:
    assert run(*arguments, "--checkpoint", tmp_path) == 2
    said = capsys.readouterr().err
    assert what in said
    assert said.count("\n") == 1


def test_the_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rocketwire.cli.spark.session.find_spec", lambda name: None if name == "pyspark" else object())
    assert run("table", "--checkpoint", tmp_path) == 2
    assert "pyspark is not installed: pip install 'rocketwire[spark]'" in capsys.readouterr().err
