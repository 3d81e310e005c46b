"""Addresses and ids of records with hosts of all kinds."""

import numpy as np

from rocketwire.spark.columns.twin.hosts import host_texts, offset_ids
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.message import MessageRecord, encode_record
from rocketwire.wire.message_id import offset_message_id

HOSTS = [
    ("10.0.0.1", 80),
    ("::1", 10911),
    ("10.0.0.1", 80),
    ("0.0.0.0", 0),
    ("2001:db8::", -1),
    ("255.255.255.255", -1),
]


def text(host: tuple[str, int]) -> str:
    return f"[{host[0]}]:{host[1]}" if ":" in host[0] else f"{host[0]}:{host[1]}"


def test_hosts_in_turn_and_in_runs() -> None:
    pairs = [(born, store) for born in HOSTS for store in HOSTS for _ in range(3)]
    log, positions = b"", []
    for number, (born, store) in enumerate(pairs):
        positions.append(len(log))
        log += encode_record(
            MessageRecord(
                topic="T", queue_id=0, body=b"", born_host=born, store_host=store, physical_offset=number << 33
            )
        )
    at = np.array(positions, np.int64)

    assert host_texts(log, at, "born_host").to_pylist() == [text(born) for born, _ in pairs]
    assert host_texts(log, at, "store_host").to_pylist() == [text(store) for _, store in pairs]
    assert offset_ids(log, at).to_pylist() == [
        offset_message_id(encode_host(*store), number << 33) for number, (_, store) in enumerate(pairs)
    ]


def test_many_different_hosts() -> None:
    hosts = [(f"{number % 256}.{number % 7}.0.{number % 251}", number * 40_009 - (1 << 31)) for number in range(300)]
    hosts += [(f"::{number:x}", number) for number in range(1, 40)]
    records = [encode_record(MessageRecord(topic="T", queue_id=0, body=b"", born_host=host)) for host in hosts]
    at = np.cumsum([0, *map(len, records[:-1])])
    assert host_texts(b"".join(records), at, "born_host").to_pylist() == list(map(text, hosts))


def test_of_nothing() -> None:
    nothing = np.empty(0, np.int64)
    assert len(host_texts(b"", nothing, "born_host")) == len(offset_ids(b"", nothing)) == 0
