"""Hosts in message ids, as the kernel replaces them and as Python does."""

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.facts.codes import SerializeType
from rocketwire.wire.header import Header, encode_header
from rocketwire.wire.message_id_hosts import replace_hosts
from tests.kernel.relay.relay_support import NEW, OLD, rewritten

pieces = st.sampled_from(
    [b'"msgId":"', b'{"msgId":"', b',"', b'"', b"\\", b",", OLD, OLD[:-1], NEW, b"{", b"}", b"msgId", b"\0\5msgId"]
)
lengths = st.integers(0, 40).map(lambda length: length.to_bytes(4))
any_bytes = st.lists(pieces | lengths | st.binary(max_size=4), max_size=12).map(b"".join)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = texts | st.lists(st.sampled_from([OLD.decode(), NEW.decode(), "x"]), max_size=4).map(",".join)
headers = st.builds(
    Header,
    code=st.just(0),
    opaque=st.integers(0, 2**31 - 1),
    flag=st.just(1),
    version=st.just(1),
    remark=st.none() | texts,
    ext=st.dictionaries(texts | st.just("msgId"), values, max_size=5),
)


@given(any_bytes, st.integers(0, 2), st.sampled_from([(OLD, NEW), (b"", b""), (b"a,b", b"x,y"), (b'"', b"q")]))
def test_any_bytes(data: bytes, form: int, hosts: tuple[bytes, bytes]) -> None:
    assert rewritten(data, form, *hosts) == replace_hosts(data, form, *hosts)


@given(headers, st.sampled_from([SerializeType.JSON, SerializeType.ROCKETMQ]), st.data())
def test_headers_whole_and_damaged(header: Header, form: SerializeType, data: st.DataObject) -> None:
    whole = encode_header(header, form)
    assert rewritten(whole, form) == replace_hosts(whole, form, OLD, NEW)
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(whole)))])
    assert rewritten(cut, form) == replace_hosts(cut, form, OLD, NEW)
