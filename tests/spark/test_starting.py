"""Where the jar of the data source is found. Sessions with it are started in compat_tests/spark/test_jar.py."""

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
