"""Records and consume queue entries in C as they are declared, and as Apache's brokers wrote them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire import _kernel as kernel
from rocketwire.store.layout.consume_queue import ENTRY, ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.record import MAGIC_V1, MAGIC_V2, RECORD, RECORD_HEADS, TOPIC_LENGTH_FORMATS
from rocketwire.wire.message import body_crc
from tests.wire import golden

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
hosts = st.binary(min_size=8, max_size=8) | st.binary(min_size=20, max_size=20)
HOST_BITS = int(SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    born_host, store_host = draw(hosts), draw(hosts)
    sys_flag = draw(int32) & ~HOST_BITS
    sys_flag |= int(SysFlag.BORN_HOST_V6) if len(born_host) == 20 else 0
    sys_flag |= int(SysFlag.STORE_HOST_V6) if len(store_host) == 20 else 0
    body = draw(st.binary(max_size=200))
    fields = {
        "total_size": 0,
        "magic": draw(st.sampled_from([MAGIC_V1, MAGIC_V2])),
        "body_crc": body_crc(body),
        "queue_id": draw(int32),
        "flag": draw(int32),
        "queue_offset": draw(int64),
        "physical_offset": draw(int64),
        "sys_flag": sys_flag,
        "born_timestamp": draw(int64),
        "born_host": born_host,
        "store_timestamp": draw(int64),
        "store_host": store_host,
        "reconsume_times": draw(int32),
        "prepared_transaction_offset": draw(int64),
        "body": body,
        "topic": draw(st.binary(max_size=127)),
        "properties": draw(st.binary(max_size=100)),
    }
    return fields | {"total_size": len(RECORD.build(fields))}


def written(fields: Any, properties: tuple[bytes, bytes, bytes], *, whole: bool = True) -> bytes:
    topic_field = TOPIC_LENGTH_FORMATS[fields["magic"]].pack(len(fields["topic"])) + fields["topic"]
    return kernel.write_record(
        topic_field,
        fields["magic"],
        fields["queue_id"],
        fields["flag"],
        fields["sys_flag"],
        fields["reconsume_times"],
        fields["queue_offset"],
        fields["physical_offset"],
        fields["born_timestamp"],
        fields["store_timestamp"],
        fields["prepared_transaction_offset"],
        fields["born_host"],
        fields["store_host"],
        fields["body"],
        properties,
        whole,
    )


@given(records(), st.integers(0, 100), st.integers(0, 100))
def test_a_record_is_written_as_it_is_declared(fields: dict[str, Any], one: int, other: int) -> None:
    text = fields["properties"]
    first, second = sorted((one, other))
    declared = RECORD.build(fields)
    assert written(fields, (text[:first], text[first:second], text[second:])) == declared
    assert written(fields, (b"", b"", text), whole=False) == bytes(4) + declared[4:]


@given(records())
def test_host_bits_follow_the_hosts_given(fields: dict[str, Any]) -> None:
    wrong = fields | {"sys_flag": fields["sys_flag"] ^ HOST_BITS}
    assert written(wrong, (fields["properties"], b"", b"")) == RECORD.build(fields)


@given(records())
def test_the_head_of_a_record_with_ipv4_hosts_is_the_fast_format(fields: dict[str, Any]) -> None:
    fields |= {"born_host": bytes(8), "store_host": bytes(range(8)), "sys_flag": fields["sys_flag"] & ~HOST_BITS}
    fields["total_size"] = len(RECORD.build(fields))
    head = [fields[name] for name in list(fields)[:14]] + [len(fields["body"])]
    assert written(fields, (b"", fields["properties"], b""))[: RECORD_HEADS[0].size] == RECORD_HEADS[0].pack(*head)


@pytest.mark.parametrize("version", golden.VERSIONS)
def test_records_of_apache_s_brokers(version: str) -> None:
    files = golden.store_files(version, "commitlog")
    rows = [row for row in golden.expected(version) if row["type"] != "blank"]
    assert len(rows) > 300
    for row in rows:
        at = row["physicalOffset"] - int(row["file"])
        data = files[row["file"]][at : at + row["storeSize"]]
        parsed = RECORD.parse(data)
        assert written(parsed, (parsed["properties"], b"", b"")) == data


@given(int64, int32, int64)
def test_a_queue_entry_is_written_as_it_is_declared(physical_offset: int, size: int, tags_code: int) -> None:
    entry = kernel.write_queue_entry(physical_offset, size, tags_code)
    assert entry == ENTRY_STRUCT.pack(physical_offset, size, tags_code)
    assert entry == ENTRY.build({"physical_offset": physical_offset, "size": size, "tags_code": tags_code})
    assert len(entry) == ENTRY_SIZE
