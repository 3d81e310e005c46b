"""The Python source without a JVM, which the jar is held against.

A Spark that it does not run with has no classes for it either: then it is in a separate process, with the Spark that is
installed beside this Python. `python -m compat_tests.spark.reference` is that process: calls come in by standard input,
pickled, and their values go out.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

import pyspark

from rocketwire.spark.errors import SparkSourceError
from tests.server.processes import ROOT

#: Whether this process's Spark runs the Python source.
IS_HERE: Final = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 2)
_Arguments = ParamSpec("_Arguments")
_Value = TypeVar("_Value")


class _Other:
    """The process beside this one; it ends with its standard input."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "compat_tests.spark.reference"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(self._popen.communicate)  # which ends its input

    def call(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> object:
        """The value of a function of this module, or its error of the source."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        pickle.dump((name, args, options), self._popen.stdin)
        self._popen.stdin.flush()
        value = pickle.load(self._popen.stdout)
        if isinstance(value, SparkSourceError):
            raise value
        return value


_other: Final = functools.cache(_Other)


def _by_the_source(function: Callable[_Arguments, _Value]) -> Callable[_Arguments, _Value]:
    """Carry it out where the Python source runs."""

    @functools.wraps(function)
    def carried_out(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Value:
        if IS_HERE:
            return function(*args, **options)
        return cast("_Value", _other().call(function.__name__, args, dict(options)))

    return carried_out


@_by_the_source
def read(path: Path | str | None, **options: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - what `Read` takes
    """All rows of a read."""
    from tests.spark.reads import Read

    return Read(path, **options).rows()


@_by_the_source
def write(namesrv: str, columns: Mapping[str, list[Any]], **options: str) -> int:
    """Send rows; the number of messages that were acknowledged."""
    from tests.spark.endpoint.support import rows, written

    return written(namesrv, rows(**columns), **options)


@_by_the_source
def write_batch(
    rows: list[dict[str, Any]], schema: Mapping[str, Any], options: Mapping[str, str], *, overwrite: bool
) -> None:
    """Send rows of a schema of Spark's (as its JSON has it), as a task does."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    from rocketwire.spark.endpoint.write.writing import batch_writer

    typed = StructType.fromJson(dict(schema))
    writer = batch_writer(typed, options, overwrite=overwrite)
    writer.write(iter([pa.RecordBatch.from_pylist(rows, to_arrow_schema(typed, timezone="UTC"))]))


def main() -> None:
    """Answer calls until the standard input ends."""
    functions = {function.__name__: function for function in (read, write, write_batch)}
    while True:
        try:
            name, args, options = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        value: object
        try:
            value = functions[name](*args, **options)
        except SparkSourceError as error:
            value = error
        pickle.dump(value, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
