"""Where the jar of the data source is found. Sessions with it are started in compat_tests/spark/test_jar.py."""

import os
import shlex
from pathlib import Path

import pytest

from rocketwire.spark import starting


@pytest.mark.parametrize("place", ["rocketwire-spark.jar", "../java/spark/target/rocketwire-spark.jar"])
def test_the_jar_of_a_wheel_or_of_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    package = tmp_path / "clone" / "spark"
    package.mkdir(parents=True)
    monkeypatch.setattr(starting, "__file__", str(package / "starting.py"))
    assert starting.jar() is None
    jar = (package / place).resolve()
    jar.parent.mkdir(parents=True, exist_ok=True)
    jar.touch()
    assert starting.jar() == jar


def test_a_jvm_gets_jars_by_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--name x pyspark-shell")
    settings: dict[str, str] = {}
    with starting._jars_of("/a b.jar,/c.jar", settings, starts=True):
        assert shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"]) == [
            "--jars",
            "/a b.jar,/c.jar",
            "--name",
            "x",
            "pyspark-shell",
        ]
    assert (os.environ["PYSPARK_SUBMIT_ARGS"], settings) == ("--name x pyspark-shell", {})


@pytest.mark.parametrize(("starts", "arguments"), [(False, ""), (True, "--jars /d.jar pyspark-shell")])
def test_else_by_a_setting(monkeypatch: pytest.MonkeyPatch, starts: bool, arguments: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    settings: dict[str, str] = {}
    with starting._jars_of("/a.jar", settings, starts=starts):
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == arguments
    assert settings == {"spark.jars": "/a.jar"}
