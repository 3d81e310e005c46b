"""The Spark session of a command: started on demand, with the output of its JVM in a log file."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import click

from rocketwire.cli.errors import CommandError

if TYPE_CHECKING:
    from types import FrameType

    from pyspark.sql import SparkSession

_NEEDED: Final = ("pyspark", "pyarrow", "pandas")
_STDERR: Final = 2
_LOOPBACK: Final = "127.0.0.1"


master_option: Final = click.option(
    "--master",
    metavar="MASTER",
    default="local[*]",
    show_default=True,
    help="Spark's master; local[*] is all processors of this machine.",
)


def check_installed() -> None:
    """Raises Mistake if what a session takes is not installed."""
    for name in _NEEDED:
        if find_spec(name) is None:
            raise CommandError(f"{name} is not installed: pip install 'rocketwire[spark]'")


class SparkRun:
    """A session of Spark; a context, which stops it at its end.

    What the JVM and the workers write goes into a log file.
    """

    def __init__(self, master: str, log: Path, settings: Mapping[str, str] | None = None) -> None:
        self._master = master
        self._more = settings or {}
        self._log = log
        self._session: SparkSession | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.stop()

    def started(self) -> SparkSession:
        """The session, started at the first call.

        Raises:
            Mistake: it could not be started.
            OSError: the log cannot be written.
        """
        from pyspark.sql import SparkSession

        # Else the first python3 of PATH would be the workers'.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(self._master).appName("rocketwire spark")
        for name, value in self._settings().items():
            builder = builder.config(name, value)
        errors = self._short_errors(f"Spark does not start with --master {self._master}")
        with _stderr_to(self._log), errors, _ctrl_c_held_back():
            self._session = builder.getOrCreate()
        return self._session

    @contextlib.contextmanager
    def short_errors(self) -> Iterator[None]:
        """Turn an error of Spark itself into one line.

        Raises:
            Mistake: Spark failed.
        """
        with self._short_errors("Spark failed"):
            yield

    @contextlib.contextmanager
    def _short_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # The errors of pyspark and of py4j have no common base.
            if not type(error).__module__.startswith(("pyspark.", "py4j.")):
                raise
            raise CommandError(f"{what}: {_cause(error)} ({self._log} tells more)") from error

    def _settings(self) -> dict[str, str]:
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        if self._master.startswith("local"):
            settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
        return {**settings, **self._more}


def _cause(error: Exception) -> str:
    """The innermost line of an error, which has the cause."""
    text = str(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        while java.getCause() is not None:
            java = java.getCause()
        text = str(java.toString())
    # A worker's traceback has its cause at its end, everything else at its beginning.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    return lines[-1 if "Traceback" in text else 0].strip() if lines else type(error).__name__


@contextlib.contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Delay Ctrl-C until Spark has started: if it interrupts pyspark's wait for the JVM, the JVM keeps running.

    A second one does not wait. pyspark installs its handler as soon as Spark runs.
    """
    pressed = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Redirect stderr of processes that are started meanwhile to a file."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        with path.open("wb") as file:
            os.dup2(file.fileno(), _STDERR)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, _STDERR)
        os.close(kept)
