"""What goes wrong in Spark becomes one line; who started the JVM keeps its stderr."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketwire.cli.errors import CommandError
from rocketwire.cli.spark import session
from rocketwire.cli.spark.session import SparkRun


class Java:
    """A Java exception, as py4j shows it."""

    def __init__(self, text: str, cause: Java | None = None) -> None:
        self._text, self._cause = text, cause

    def getCause(self) -> Java | None:  # noqa: N802 - Java's name
        return self._cause

    def toString(self) -> str:  # noqa: N802 - Java's name
        return self._text


class FromPy4j(Exception):
    """Passes for one of py4j's."""

    __module__ = "py4j.protocol"
    java_exception: Java | None = None


def message_of(error: Exception, log: Path) -> str:
    with pytest.raises(CommandError) as raised, SparkRun("local", log).short_errors():
        raise error
    return str(raised.value)


def test_the_innermost_cause_is_reported(tmp_path: Path) -> None:
    error = FromPy4j("An error occurred while calling o1.x.\n: long")
    assert message_of(error, tmp_path) == f"Spark failed: An error occurred while calling o1.x. ({tmp_path} tells more)"
    error.java_exception = Java("outer", Java("java.io.IOException: No space left\n\tat x.y(Z.java:1)"))
    assert message_of(error, tmp_path) == f"Spark failed: java.io.IOException: No space left ({tmp_path} tells more)"
    error.java_exception = Java(
        "PythonException: Traceback (most recent call last):\n  File x\nMemoryError: much\n\tat z"
    )
    assert "Spark failed: MemoryError: much (" in message_of(error, tmp_path)


def test_other_errors_are_raised(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), SparkRun("local", tmp_path).short_errors():
        raise ZeroDivisionError


def test_processes_started_meanwhile_write_into_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import os; os.write(2, b'from a child')"
    with session._stderr_to(tmp_path / "log"):
        subprocess.run([sys.executable, "-c", code], check=True)
    os.write(2, b"from here")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "from a child"
    assert capfd.readouterr().err == "from here"


def test_ctrl_c_waits_until_spark_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)
    steps = []

    class Builder:
        def config(self, *_: str) -> Builder:
            return self

        appName = master = config  # noqa: N815 - Spark's name

        def getOrCreate(self) -> Builder:  # noqa: N802 - Spark's name
            signal.raise_signal(signal.SIGINT)
            steps.append("started")
            return self

        def stop(self) -> None:
            steps.append("stopped")

    monkeypatch.setattr(SparkSession, "builder", Builder())
    with pytest.raises(KeyboardInterrupt), SparkRun("local", tmp_path / "log") as one:
        one.started()
    assert steps == ["started", "stopped"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_wait() -> None:
    pressed, before = [], signal.getsignal(signal.SIGINT)

    def press() -> None:
        with session._ctrl_c_held_back():
            for number in range(3):
                pressed.append(number)
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        press()
    assert pressed == [0, 1]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_local_master_stays_on_loopback(tmp_path: Path) -> None:
    assert SparkRun("local[2]", tmp_path)._settings()["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in SparkRun("spark://host:7077", tmp_path)._settings()
