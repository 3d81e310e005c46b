"""Names that stand twice."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rocketwire.spark.columns.twin.doubled import WORD, rows_with_doubled_names

names = st.sampled_from(
    [b"a", b"b", b"ab", b"abc", b"12345678", b"123456789", b"12345678A", b"12345678x9", b"12345678y9"]
)


@given(st.lists(st.lists(names, max_size=20), max_size=6))
@example([[b"a", b"b"], [], [b"b", b"a"]])
@example([[b"%d" % n for n in range(100)] + [b"7"], [b"7"], [b"%d" % n for n in range(40)]])
@example([[b"123456789", b"12345678A", b"12345678x9", b"12345678y9"], [b"12345678x9"]])
def test_rows_are_those_in_which_a_name_stands_twice(rows: list[list[bytes]]) -> None:
    text = b"".join(name + b"\x01" for row in rows for name in row) + bytes(WORD)
    lengths = np.array([len(name) for row in rows for name in row], np.int64)
    ends = np.cumsum(lengths + 1) - 1
    counts = np.array([len(row) for row in rows], np.int32)
    found = rows_with_doubled_names(np.frombuffer(text, np.uint8), ends - lengths, ends, counts)
    assert found.tolist() == [number for number, row in enumerate(rows) if len(set(row)) < len(row)]
