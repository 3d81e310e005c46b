"""Starts a Spark session that reads RocketMQ: with this Python, and with the jar if the installation has it."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log: Final = logging.getLogger("rocketwire.spark")
_NAME: Final = "rocketwire-spark.jar"
_JARS: Final = "spark.jars"
_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"


def jar() -> Path | None:
    """The jar of the data source: that of the installed package, or of a clone where it was built; None without one."""
    here = Path(__file__).resolve().parent
    places = (here / _NAME, here.parent / "java" / "spark" / "target" / _NAME)
    return next((path for path in places if path.is_file()), None)


def session(settings: Mapping[str, str] | None = None, *, with_jar: bool = True) -> SparkSession:
    """The running session, or a new one that reads stores with the jar, if there is one, and else with Python.

    The jar prunes columns and pushes filters and counts down; what it leaves to Python (endpoints, writes, URLs, the
    table of queues) works as without it. PYSPARK_PYTHON becomes this Python, unless it is set.

    Args:
        settings: Spark's, as `{"spark.master": "local[4]"}`; their `spark.jars` are kept.
        with_jar: False for the Python source alone.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = jar() if with_jar else None
    running = SparkSession.getActiveSession()
    if running is not None:
        if found is not None and str(found) not in (running.conf.get(_JARS, "") or ""):
            log.warning("the session that runs was started without %s: Python reads stores in it", found)
        return running
    given = dict(settings or {})
    jars = ",".join(filter(None, [given.pop(_JARS, ""), "" if found is None else str(found)]))
    starts = SparkContext._gateway is None  # noqa: SLF001 - no public name shows whether there is a JVM
    with _jars_of(jars, given, starts=starts):
        return SparkSession.builder.config(conf=SparkConf().setAll([*given.items()])).getOrCreate()


@contextmanager
def _jars_of(jars: str, settings: dict[str, str], *, starts: bool) -> Iterator[None]:
    """Have a session get jars: by an argument of the JVM, which adds those of `spark.jars.packages` to them.

    A setting would take the place of both on executors. A JVM that runs already (not `starts`), and arguments that name
    jars themselves, leave only that.
    """
    arguments = os.environ.get(_ARGUMENTS)
    words = shlex.split(arguments or "")
    if not jars:
        yield
        return
    if not starts or "--jars" in words:
        settings[_JARS] = jars
        yield
        return
    os.environ[_ARGUMENTS] = f"--jars {shlex.quote(jars)} {arguments or 'pyspark-shell'}"
    try:
        yield
    finally:
        if arguments is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = arguments
