"""Columns handed to Arrow in one: what is imported holds the memory as long as anything needs it, and no longer.

tests/spark/columns/test_kernel.py looks at the values of every column.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pyarrow as pa
import pytest

from rocketwire import _kernel as kernel
from rocketwire.spark.schema import arrow_schema
from rocketwire.wire.message import encode_record
from tests.kernel.records.record_rows import NAMES, host_text, message, positions_of

RECORD = encode_record(message(properties=b"TAGS\x01a\x02KEYS\x01k l", body=b"body"))


class Memory(bytearray):
    """Memory of which one can see when it is freed."""


def imported(names: tuple[str, ...]) -> tuple[pa.RecordBatch, weakref.ref[Memory]]:
    memory, places = kernel.record_columns(RECORD * 2, positions_of([0, len(RECORD)]), names, Memory, host_text)
    address = kernel.arrow_of_columns(names, 2, memory, places)
    return pa.RecordBatch._import_from_c(address, arrow_schema(names)), weakref.ref(memory)


def test_the_memory_lives_as_long_as_a_column_of_it() -> None:
    batch, memory = imported(NAMES)
    batch.validate(full=True)
    tags, keys = batch.column("tags"), batch.column("keys").slice(1).flatten()
    del batch
    gc.collect()
    assert memory() is not None
    assert (tags.to_pylist(), keys.to_pylist()) == (["a", "a"], ["k", "l"])
    del tags
    assert memory() is not None
    del keys
    assert memory() is None


def test_no_columns_have_rows_all_the_same() -> None:
    batch, _ = imported(())
    assert (batch.num_rows, batch.num_columns) == (2, 0)


@pytest.mark.parametrize(
    ("names", "count", "places", "told"),
    [
        (("flag",), 1, (), "of each one"),
        (("flag",), -1, ((0, 0, 4),), "of each one"),
        (("flag",) * 33, 1, ((0, 0, 4),) * 33, "of each one"),
        (("none",), 1, ((0, 0, 4),), "no columns as"),
        (("flag",), 1, ((0, 0),), "no columns as"),
        (("flag",), 1, ((0,) * 13,), "no columns as"),
        (("flag",), 1, (None,), "no columns as"),
        (("flag",), 1, ((0, 0, 17),), "no columns as"),
        (("flag",), 1, ((0, 17, 0),), "no columns as"),
    ],
)
def test_what_are_no_columns_is_refused(names: Any, count: int, places: Any, told: str) -> None:
    memory = Memory(16)
    alive = weakref.ref(memory)
    with pytest.raises(ValueError, match=told):
        kernel.arrow_of_columns(names, count, memory, places)
    del memory
    assert alive() is None


def test_what_are_no_numbers_or_no_memory_is_refused() -> None:
    for names, memory, places in (((1,), b"", ((0,),)), (("flag",), b"", (("x",),)), (("flag",), None, ((0,),))):
        with pytest.raises(TypeError):
            kernel.arrow_of_columns(names, 1, memory, places)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        kernel.arrow_of_columns(("flag",), 1, b"", ((-1,),))
