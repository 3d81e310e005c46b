"""The hot path's codec of ends of transactions against the declared one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.codes import RequestCode
from rocketwire.wire.fast_ends import decode_end
from rocketwire.wire.fast_texts import OddTexts
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.headers import decode_ext, encode_ext
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from tests.wire import golden

END = RequestCode.END_TRANSACTION

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ends = st.builds(
    EndTransactionRequestHeader,
    producer_group=text,
    tran_state_table_offset=int64,
    commit_log_offset=int64,
    commit_or_rollback=int32,
    from_transaction_check=st.booleans(),
    msg_id=text,
    transaction_id=st.none() | text,
)


def check_equal(data: bytes) -> None:
    found = decode_end(memoryview(data))
    if OddTexts("fromTransactionCheck")(data, true=True):
        assert found is None
        return
    assert found is not None
    header = decode_header(data, 0)
    assert (found.code, found.opaque, found.flag) == (header.code, header.opaque, header.flag)
    assert found.version == header.version
    assert found.fields == decode_ext(EndTransactionRequestHeader, header.ext)


@given(ends, int32, st.sampled_from([0, 2]))
def test_an_end_reads_as_the_general_decoder_reads_it(
    fields: EndTransactionRequestHeader, opaque: int, flag: int
) -> None:
    header = Header(code=END, opaque=opaque, flag=flag, version=407, ext=encode_ext(fields))
    check_equal(encode_header(header, 0))


def test_golden_headers_read_as_the_general_decoder_reads_them() -> None:
    seen = 0
    for capture in golden.captures():
        for _, frame, row in golden.frames(capture):
            if row["kind"] != "response" and row["code"] == END and row["serializer"] == "JSON":
                check_equal(frame[8 : 8 + row["headerLength"]])
                seen += 1
    assert seen > 0


@given(st.binary(max_size=80))
def test_other_bytes_are_left_to_the_general_decoder(junk: bytes) -> None:
    assert decode_end(memoryview(junk)) is None
    assert decode_end(memoryview(b'{"code":37,' + junk)) is None


@pytest.mark.parametrize(
    "header",
    [
        b'{"code":37,"opaque":1}',
        b'{"code":37,"opaque":1,"extFields":{"msgId":"\xff"}}',
        b'{"code":36,"opaque":1,"extFields":{}}',
        (
            b'{"code":37,"opaque":1,"extFields":{"producerGroup":"g","tranStateTableOffset":"1","commitLogOffset":"1",'
            b'"commitOrRollback":"8","msgId":"m"},"code":105}'
        ),
    ],
)
def test_incomplete_headers_are_left_to_the_general_decoder(header: bytes) -> None:
    assert decode_end(memoryview(header)) is None
