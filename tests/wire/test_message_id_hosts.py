import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.wire.facts.codes import SerializeType
from rocketwire.wire.header import Header, decode_header, encode_header
from rocketwire.wire.message_id import offset_message_id, parse_offset_message_id
from rocketwire.wire.message_id_hosts import replace_hosts

BROKER = b"\xc0\0\2\1\0\0\x2a\x9f"
PROXY = b"\x7f\0\0\1\0\0\x1f\x90"
OLD, NEW = (host.hex().upper().encode() for host in (BROKER, PROXY))
JSON, ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
hosts = st.sampled_from([BROKER, PROXY, b"\xc0\0\2\1\0\0\x2a\xa0"])
ids = st.builds(offset_message_id, hosts, st.integers(0, 2**63 - 1))
values = st.lists(ids, min_size=1, max_size=4).map(",".join) | texts
others = st.dictionaries(
    texts | st.sampled_from(["msgid", "msgId2", 'x"msgId', "offsetMsgId"]), texts | ids, max_size=5
)


def in_ids(value: str) -> str:
    return ",".join(NEW.decode() + each[16:] if each.startswith(OLD.decode()) else each for each in value.split(","))


@given(others, values, others, texts, st.sampled_from([JSON, ROCKETMQ]))
def test_only_the_hosts_of_message_ids_change(
    before: dict[str, str], value: str, after: dict[str, str], remark: str, form: SerializeType
) -> None:
    ext = before | {"msgId": value} | after
    header = Header(code=0, opaque=7, flag=1, version=1, remark=remark or None, ext=ext)
    data = encode_header(header, form)
    became = replace_hosts(data, form, OLD, NEW)
    assert len(became) == len(data)
    wanted = Header(
        code=0, opaque=7, flag=1, version=1, remark=remark or None, ext=ext | {"msgId": in_ids(ext["msgId"])}
    )
    assert became == encode_header(wanted, form)


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
def test_the_answer_to_a_send_names_the_other_host(form: SerializeType) -> None:
    ext = {"queueId": "3", "msgId": offset_message_id(BROKER, 4711), "queueOffset": "9"}
    data = encode_header(Header(code=0, opaque=1, flag=1, version=1, ext=ext), form)
    found = decode_header(replace_hosts(data, form, OLD, NEW), form).ext
    assert found is not None
    assert parse_offset_message_id(found["msgId"]) == (PROXY, 4711)


@given(st.binary(max_size=80), st.integers(0, 3))
def test_any_bytes_keep_their_length(data: bytes, form: int) -> None:
    assert len(replace_hosts(data, form, OLD, NEW)) == len(data)


def test_another_form_stays_as_it_is() -> None:
    data = b'{"msgId":"%b"}' % OLD
    assert replace_hosts(data, 2, OLD, NEW) == data
    assert replace_hosts(data, JSON, OLD, NEW) == b'{"msgId":"%b"}' % NEW


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":"\\"msgId\\":\\"%b"}' % OLD,
        b'{"x\\"msgId":"%b"}' % OLD,
        b'"msgId":"%b"' % OLD,
        b'{"msgId":"0%b"}' % OLD,
        b'{"msgId":"%b"}' % OLD[:-1],
        b'{"msgId":"\\n%b"}' % OLD,
        b'{"offsetMsgId":"%b"}' % OLD,
    ],
)
def test_other_texts_stay_as_they_are(data: bytes) -> None:
    assert replace_hosts(data, JSON, OLD, NEW) == data


def field(name: bytes, value: bytes) -> bytes:
    return struct.pack(">H", len(name)) + name + struct.pack(">I", len(value)) + value


@pytest.mark.parametrize("length", [0, 12, 13, 16, 17, 20, 21])
def test_a_binary_header_that_is_cut_stays_as_it_is(length: int) -> None:
    data = (bytes(21) + field(b"msgId", OLD))[:length]
    assert replace_hosts(data, ROCKETMQ, OLD, NEW) == data


def test_lengths_that_do_not_fit_end_the_rewriting() -> None:
    good, head = field(b"msgId", OLD), bytes(21)
    became = field(b"msgId", NEW)
    long_value = b"\0\1a\xff\xff\xff\xff"
    assert replace_hosts(head + good + long_value + good, ROCKETMQ, OLD, NEW) == head + became + long_value + good
    long_name = b"\xff\xff"
    assert replace_hosts(head + good + long_name + good, ROCKETMQ, OLD, NEW) == head + became + long_name + good
    assert replace_hosts(head + good + b"\0", ROCKETMQ, OLD, NEW) == head + became + b"\0"
    long_remark = bytes(13) + b"\xff\xff\xff\xf0" + bytes(4) + good
    assert replace_hosts(long_remark, ROCKETMQ, OLD, NEW) == long_remark
