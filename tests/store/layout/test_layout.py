"""The file layouts: their sizes, and the fast codecs against the declarations."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.layout import checkpoint, consume_queue, index
from rocketwire.store.layout.derive import dtype_fields, field_offsets, fixed_struct
from rocketwire.store.records import record_head
from rocketwire.wire.message import FIXED_V1_IPV4

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
KINDS = {"l": INT32, "q": INT64}


def test_sizes_are_apaches() -> None:
    assert consume_queue.ENTRY_SIZE == 20
    assert index.HEADER_SIZE == 40
    assert index.ENTRY_SIZE == 20
    assert index.SLOT_SIZE == 4
    assert index.file_size(5_000_000, 20_000_000) == 420_000_040
    assert checkpoint.CHECKPOINT_STRUCT.size == 24
    assert index.HEADER_OFFSETS["entry_count"] == 36
    assert struct.unpack(">qiq", consume_queue.PRE_BLANK) == (0, 0x7FFFFFFF, 0)


@given(data=st.data())
def test_fast_codecs_are_the_declarations(data: st.DataObject) -> None:
    for declaration in (consume_queue.ENTRY, index.HEADER, index.ENTRY, checkpoint.CHECKPOINT):
        fast = fixed_struct(declaration)
        names = list(field_offsets(declaration))
        values = [data.draw(KINDS[code]) for code in fast.format.lstrip(">")]
        packed = fast.pack(*values)
        assert packed == declaration.build(dict(zip(names, values, strict=True)))
        array = np.frombuffer(packed, np.dtype(dtype_fields(declaration)))
        assert [int(array[0][name]) for name in names] == values
        offsets = field_offsets(declaration)
        fields: Mapping[str, Any] = np.dtype(dtype_fields(declaration)).fields or {}
        assert [fields[name][1] for name in names] == list(offsets.values())


def test_record_heads_grow_with_the_hosts() -> None:
    assert record_head(8, 8).format == FIXED_V1_IPV4.format
    assert record_head(20, 8).size == record_head(8, 20).size == FIXED_V1_IPV4.size + 12
    assert record_head(20, 20).size == FIXED_V1_IPV4.size + 24
