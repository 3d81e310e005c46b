import struct

from rocketwire.wire.facts import record


def test_positions_are_those_of_the_declaration() -> None:
    values = {
        "total_size": 1, "magic": record.MAGIC_V1, "body_crc": 3, "queue_id": 4, "flag": 5, "queue_offset": 6,
        "physical_offset": 7, "sys_flag": 8 << 8, "born_timestamp": 9, "born_host": b"bornhost",
        "store_timestamp": 10, "store_host": b"storhost", "reconsume_times": 11,
        "prepared_transaction_offset": 12, "body": b"", "topic": b"", "properties": b"",
    }  # fmt: skip
    data = record.RECORD.build(values)
    assert record.RECORD_HEADS[0].size == 88
    assert record.RECORD_HEADS[0].unpack_from(data) == (*list(values.values())[:14], 0)
    for name, kind in [
        ("total_size", "i"), ("magic", "i"), ("body_crc", "i"), ("queue_id", "i"), ("flag", "i"),
        ("queue_offset", "q"), ("physical_offset", "q"), ("sys_flag", "i"), ("born_timestamp", "q"),
        ("born_host", "8s"),
    ]:  # fmt: skip
        (found,) = struct.unpack_from(">" + kind, data, getattr(record, name.upper() + "_AT"))
        assert found == values[name]
    assert struct.unpack_from(">q", data, record.STORE_TIMESTAMP_AT_IPV4) == (10,)
