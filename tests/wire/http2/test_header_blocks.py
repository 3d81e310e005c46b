"""Our way through a block of headers, held against the decoder of the library."""

from __future__ import annotations

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError, OversizedHeaderListError
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.http2.events import COMPRESSION_ERROR, ENHANCE_YOUR_CALM
from rocketwire.wire.http2.guard import Http2Violation
from rocketwire.wire.http2.header_blocks import FORGET_ALL, HeaderBlocks, Headers, encode
from tests.wire.http2.client import request

MOST = 5000
_names = st.sampled_from([b":method", b":path", b"content-type", b"te", b"x-a", b"x-bb", b"date"]) | st.binary(
    max_size=9
)
_values = st.sampled_from([b"POST", b"trailers", b"application/grpc", b"v" * 200]) | st.binary(max_size=40)
_headers = st.lists(st.tuples(_names, _values, st.booleans()), max_size=9)
_blocks = st.lists(
    st.tuples(_headers, st.booleans(), st.sampled_from([None, None, None, 0, 60, 200, 4096])), max_size=9
)
_raw = st.lists(
    st.binary(max_size=40)
    | st.lists(st.sampled_from([0x82, 0x83, 0x86, 0x88, 0xBE, 0xBF, 0xC0]), min_size=4, max_size=9).map(bytes)
    | st.sampled_from(
        [b"\x40\x01a\x01b", b"\x0f\x10\x01x", b"\x20", b"\x3f\xe1\x1f", b"\x3f\xe2\x1f", b"\xff\x00", b"\x80"]
    )
    | st.builds(
        lambda text: b"\x10\x01n" + Encoder()._encode_literal(b"", text, b"", huffman=True)[1:], st.binary(max_size=9)
    ),
    max_size=12,
)


def headers_of(blocks: HeaderBlocks, block: bytes) -> Headers:
    run, rest, size = blocks.decode(block)
    found = rest if run is None else run.headers + rest
    assert size == sum(len(name) + len(value) + 32 for name, value in found)
    return found


@given(_blocks)
def test_what_an_encoder_wrote(blocks: list[tuple[list[tuple[bytes, bytes, bool]], bool, int | None]]) -> None:
    encoder, ours = Encoder(), HeaderBlocks(1 << 20)
    for headers, huffman, size in blocks:
        if size is not None:
            encoder.header_table_size = size
        block = encoder.encode(headers, huffman=huffman)
        assert headers_of(ours, block) == [(name, value) for name, value, _ in headers]
        again = encoder.encode([(*header[:2], True) for header in headers])
        for _ in range(3):
            assert headers_of(ours, again) == [(name, value) for name, value, _ in headers]


@given(st.lists(_raw.map(b"".join), max_size=5))
def test_any_bytes(blocks: list[bytes]) -> None:
    theirs, ours = Decoder(MOST), HeaderBlocks(MOST)
    for block in blocks:
        try:
            expected = [(bytes(name), bytes(value)) for name, value in theirs.decode(block, raw=True)]
        except (HPACKError, IndexError) as error:
            code = ENHANCE_YOUR_CALM if isinstance(error, OversizedHeaderListError) else COMPRESSION_ERROR
            with pytest.raises(Http2Violation) as raised:
                headers_of(ours, block)
            assert raised.value.code == code
            return
        assert headers_of(ours, block) == expected


def test_runs_are_those_of_the_table() -> None:
    encoder, ours = Encoder(), HeaderBlocks(MOST)
    headers = [(name.encode(), value.encode()) for name, value in request()]
    assert headers_of(ours, encoder.encode(headers)) == headers
    block = encoder.encode(headers)
    assert ours.decode(block)[0] is None  # the table has changed before
    run, rest, _ = ours.decode(block)
    assert run is not None
    assert rest == []
    assert ours.decode(block)[0] is run
    assert ours.decode(block[:-1])[0] is not run
    assert headers_of(ours, encoder.encode([(b"x-new", b"1")])) == [(b"x-new", b"1")]
    block = encoder.encode(headers)  # all places have moved
    assert headers_of(ours, block) == headers
    assert headers_of(ours, block) == headers
    assert ours.decode(block)[0] is not run


def test_a_table_has_the_size_that_the_client_says() -> None:
    blocks = HeaderBlocks(MOST)
    assert headers_of(blocks, b"\x40\x01a\x01b\xbe") == [(b"a", b"b")] * 2
    assert headers_of(blocks, b"\x20\x3f\xe1\x1f\x82") == [(b":method", b"GET")]
    with pytest.raises(Http2Violation):
        blocks.decode(b"\xbe")
    with pytest.raises(Http2Violation):
        blocks.decode(b"\x3f\xe2\x1f")


def test_places_far_behind_take_two_bytes() -> None:
    blocks = HeaderBlocks(1 << 20)
    many = [(b"%d" % number, b"") for number in range(80)]
    assert headers_of(blocks, b"".join(b"\x40\x02%b\x00" % name.zfill(2) for name, _ in many))[79] == (b"79", b"")
    assert headers_of(blocks, b"\xff\x00") == [(b"14", b"")]
    assert headers_of(blocks, b"\x0f\x70\x01v") == [(b"14", b"v")]


def test_few_runs_are_kept() -> None:
    blocks = HeaderBlocks(MOST)
    kept = [blocks.decode(bytes([0x82, 0x83, 0x84, 0x81 + number]))[0] for number in range(40)]
    assert kept.count(None) == 8
    run, headers, _ = blocks.decode(b"\x82\x83\x84\xbd")
    assert (run, len(headers)) == (None, 4)


def test_no_long_run_is_kept() -> None:
    blocks = HeaderBlocks(1 << 20)
    blocks.decode(b"\x40\x01a\x7f\xe1\x07" + b"v" * 1120)
    blocks.decode(b"\x82")
    for length, kept in ((3, True), (4, False)):
        block = b"\x82" * 4 + b"\xbe" * length
        run, rest, size = blocks.decode(block)
        assert run is not None
        assert (len(run.headers), rest, size) == (4 + length, [], run.size)
        assert (blocks.decode(block)[0] is run) is kept


def test_a_run_may_be_too_large() -> None:
    with pytest.raises(Http2Violation) as raised:
        HeaderBlocks(100).decode(b"\x82" * 4)
    assert raised.value.code == ENHANCE_YOUR_CALM


@pytest.mark.parametrize("block", [b"\x82\x84\x86\x83\xbe", b"\x40\x05ab", b"\x40", b"\x00\x01a\x7f\xff", b"\x82\x20"])
def test_blocks_that_are_none(block: bytes) -> None:
    with pytest.raises(Http2Violation) as raised:
        HeaderBlocks(MOST).decode(block)
    assert raised.value.code == COMPRESSION_ERROR


@given(st.lists(st.tuples(st.sampled_from([":status", "grpc-status", "x"]), st.text("ab 0", max_size=200)), max_size=5))
def test_what_is_sent_depends_on_no_table(headers: list[tuple[str, str]]) -> None:
    decoder = Decoder()
    decoder.max_allowed_table_size = 0
    expected = [(name.encode(), value.encode()) for name, value in headers]
    for begin in (FORGET_ALL, b"", b""):
        assert [(name, value) for name, value in decoder.decode(begin + encode(headers), raw=True)] == expected
