import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.batch import BATCH_ITEM, BatchItem, decode_batch, encode_batch
from rocketwire.wire.errors import BatchInvalid

items = st.builds(
    BatchItem, flag=st.integers(-(2**31), 2**31 - 1), body=st.binary(max_size=20), properties=st.binary(max_size=20)
)
ONE = encode_batch([BatchItem(7, b"body", b"p\x01v")])


@given(st.lists(items))
def test_round_trip_and_equal_to_the_declaration(batch: list[BatchItem]) -> None:
    data = encode_batch(batch)
    assert decode_batch(data) == batch
    assert decode_batch(memoryview(data)) == batch
    assert b"".join(BATCH_ITEM.build(each._asdict()) for each in batch) == data
    declared = BATCH_ITEM[len(batch)].parse(data)
    assert [(each.flag, each.body, each.properties) for each in declared] == batch


def test_bodies_are_slices_of_the_data() -> None:
    (item,) = decode_batch(memoryview(ONE))
    assert isinstance(item.body, memoryview)
    assert isinstance(item.properties, bytes)


def test_magic_number_and_crc_are_not_checked() -> None:
    data = bytearray(ONE)
    data[4:12] = b"whatever"
    assert decode_batch(bytes(data)) == decode_batch(ONE)


@given(st.lists(items, min_size=1), st.data())
def test_a_cut_batch_is_an_error_unless_cut_between_messages(batch: list[BatchItem], data: st.DataObject) -> None:
    whole = encode_batch(batch)
    ends = {len(encode_batch(batch[:count])) for count in range(len(batch) + 1)}
    for size in (1, data.draw(st.integers(0, len(whole)))):
        if size in ends:
            assert encode_batch(decode_batch(whole[:size])) == whole[:size]
        else:
            with pytest.raises(BatchInvalid):
                decode_batch(whole[:size])


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [
        (0, ">i", 0),
        (0, ">i", -1),
        (0, ">i", len(ONE) + 1),
        (0, ">i", len(ONE) - 1),
        (16, ">i", -1),
        (16, ">i", 5),
        (16, ">i", 1 << 30),
        (24, ">h", -1),
        (24, ">h", 2),
        (24, ">h", 4),
    ],
)
def test_lengths_that_do_not_fit(at: int, form: str, value: int) -> None:
    data = bytearray(ONE)
    struct.pack_into(form, data, at, value)
    with pytest.raises(BatchInvalid, match="message 0 of a batch"):
        decode_batch(bytes(data))


@pytest.mark.parametrize("item", [BatchItem(1 << 31, b"", b""), BatchItem(0, b"", bytes(32768))])
def test_what_cannot_be_written(item: BatchItem) -> None:
    with pytest.raises(BatchInvalid, match="cannot be written"):
        encode_batch([item])
