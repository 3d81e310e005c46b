"""The bytes of the store's files: what rocketwire writes is what Apache's broker writes in its place.

Theory: both brokers get the same requests, or recover copies of one store; then their files are compared. Only what a
second run of one broker would not repeat may differ: ports and times in the records, names of index files.
"""

from __future__ import annotations

import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from compat_tests.remoting import Connection, FrameRequest, pull, send
from compat_tests.shared_store import POPPING, SIZES, SharedStore
from compat_tests.store_traffic import Load, commit, create_topic, send_all_kinds
from compat_tests.store_view import GET_MAX_OFFSET, QUERY_MESSAGE, look
from compat_tests.stored import records
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheNameServer

SEND_MESSAGE_V2: Final = 310
SEND_BATCH_MESSAGE: Final = 320
POP_MESSAGE: Final = 200050
POLLING_TIMEOUT: Final = 210
MESSAGE_ILLEGAL: Final = 13
TOPIC: Final = "T"
WITHIN: Final = 120.0  # seconds to wait for what happens sooner or later
FILE: Final = 65536  # bytes of a commit log file
BLANK: Final = -875286124
MAGIC_V2: Final = -626843477
BORN: Final = 1_700_000_000_000
# Of a record with IPv4 hosts: the client's address, the store time and the broker's address.
VARYING: Final = slice(48, 72)
_BATCHED: Final = struct.Struct(">iiiii")  # a message in a batch: size, magic, CRC, flag, length of the body


def fields(properties: str, *, batch: bool, topic: str = TOPIC) -> Mapping[str, str | int]:
    """A send's header."""
    return send(topic, properties=properties, a="formats", g=BORN, h=7, l=16, m=str(batch).lower()).fields


def single(number: int, size: int) -> FrameRequest:
    """One message. Its properties are in an order that Apache's hash map keeps."""
    return FrameRequest(
        SEND_MESSAGE_V2, fields(f"AAA\x01{number}\x02UNIQ_KEY\x01U{number}", batch=False), bytes([number]) * size
    )


def batch(number: int, count: int, size: int, properties: str = "WAIT\x01true") -> FrameRequest:
    """So many messages in one send."""
    parts = []
    for at in range(count):
        text = f"UNIQ_KEY\x01B{number}-{at}\x02KEYS\x01b{number}\x02TAGS\x01t".encode()
        body = bytes([number]) * size
        total = _BATCHED.size + len(body) + 2 + len(text)
        parts += [_BATCHED.pack(total, 0, 0, 0, len(body)), body, struct.pack(">h", len(text)), text]
    return FrameRequest(SEND_BATCH_MESSAGE, fields(properties, batch=True), b"".join(parts))


def log(store: SharedStore) -> Iterator[tuple[int, bytes]]:
    """Each record and blank of a store's log with its place, less what varies."""
    data = b"".join(path.read_bytes() for path in sorted((store.path / "commitlog").iterdir()))
    at = 0
    while at + 8 <= len(data):
        size, magic = struct.unpack_from(">ii", data, at)
        if size == 0:
            return
        raw = bytearray(data[at : at + (8 if magic == BLANK else size)])
        raw[VARYING] = b""
        yield at, bytes(raw)
        at += size


class Sender:
    """Sends one request after the other and keeps the answer to each."""

    def __init__(self, connection: Connection) -> None:
        self.answers: list[tuple[int, str, tuple[int, ...]]] = []
        self._connection = connection

    def send(self, *requests: FrameRequest) -> int:
        """The place of the last message's record."""
        for message in requests:
            answer = self._connection.ask_all([message])[0]
            places = tuple(int(each[16:], 16) for each in answer.fields["msgId"].split(","))
            self.answers.append((answer.code, answer.fields["queueOffset"], places))
        return self.answers[-1][2][-1]

    def leave(self, room: int) -> None:
        """Fill the log's file so that so many bytes remain."""
        place = self.send(single(1, 1))
        self.send(single(1, FILE - room - place % FILE - 2 * RECORD - 1))


#: Bytes of a record of `single` and of `batch` with common properties, less the body.
RECORD: Final = 91 + len(TOPIC) + len("AAA\x011\x02UNIQ_KEY\x01U1\x02CLUSTER\x01DefaultCluster")
OF_BATCH: Final = (
    91 + len(TOPIC) + len("UNIQ_KEY\x01B9-0\x02KEYS\x01b9\x02TAGS\x01t\x02CLUSTER\x01DefaultCluster\x02WAIT\x01true")
)


def sends(connection: Connection) -> list[tuple[int, str, tuple[int, ...]]]:
    """Batches and single messages around the ends of files in all ways; what the broker answered."""
    create_topic(connection, TOPIC, 1)
    sender = Sender(connection)
    sender.send(single(1, 100), batch(2, 3, 100), single(3, 60_000), batch(4, 4, 1500))
    for number, properties in enumerate(("", "WAIT\x01true\x02", "b\x011\x02a\x01\x02c\x012"), 5):
        sender.send(batch(number, 7, 1000, properties))
    sender.send(batch(3, 2, 30_000), batch(4, 300, 1), *(single(number, 2000) for number in range(60)))
    for spare in (-1, 0, 1):
        sender.leave(8 + spare + RECORD + 50)
        sender.send(single(5, 50), single(6, 50))
        sender.leave(8 + spare + 5 * (OF_BATCH + 50))
        sender.send(batch(7, 5, 50), batch(8, 5, 50))
    commit(connection, "formats", TOPIC, {0: 300})
    return sender.answers


def test_the_same_sends_are_the_same_records_in_the_same_places(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """The log, its blanks and the queue; a batch is in one file."""
    apache = SharedStore(tmp_path / "apache", name_server)
    ours = SharedStore(tmp_path / "rocketwire", name_server)
    with apache.apache(mappedFileSizeCommitLog=str(FILE)), Connection(apache.broker) as connection:
        wanted = sends(connection)
    # Without a region nothing is stored with a message but what 4.9.7 stores.
    with ours.rocketwire(mappedFileSizeCommitLog=str(FILE), storeRegion="false"), Connection(ours.broker) as connection:
        assert sends(connection) == wanted
    assert list(log(ours)) == list(log(apache))
    assert ours.digests("consumequeue") == apache.digests("consumequeue")
    assert all(len({place // FILE for place in places}) == 1 for _, _, places in wanted)
    name = "config/consumerOffset.json"
    assert (ours.path / name).read_bytes() == (apache.path / name).read_bytes()
    blanks = {struct.unpack_from(">i", raw)[0] for _, raw in log(apache) if len(raw) == 8}
    assert {8, 9} <= blanks


def wait_for_key(connection: Connection, key: str) -> None:
    """Wait until a key finds its one message: the index follows the log."""
    query: dict[str, str | int] = {
        "topic": TOPIC,
        "key": key,
        "maxNum": 32,
        "beginTimestamp": 0,
        "endTimestamp": 1 << 62,
    }
    wait_until(lambda: connection.ask(QUERY_MESSAGE, query).code == 0, f"{key} is not found")
    assert len(list(records(connection.ask(QUERY_MESSAGE, query).body))) == 1


def test_messages_without_keys_at_the_end_are_done_for_both(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """A stop marks in the index that the newest messages have no keys: both continue there."""
    store = SharedStore(tmp_path, name_server)
    for number, name in enumerate(("rocketwire", "apache", "rocketwire"), 1):
        broker = store.rocketwire() if name == "rocketwire" else store.apache()
        with broker, Connection(store.broker) as connection:
            sender = Sender(connection)
            if number == 1:
                create_topic(connection, TOPIC, 1)
            sender.send(single(number, 100))
            last = [sender.send(FrameRequest(SEND_MESSAGE_V2, fields("a\x01b", batch=False), b"x")) for _ in range(50)][
                -1
            ]
            for earlier in range(1, number + 1):
                wait_for_key(connection, f"U{earlier}")
        if name == "rocketwire":
            (index,) = (store.path / "index").iterdir()
            assert struct.unpack_from(">q", index.read_bytes(), 24) == (last,)


@pytest.mark.parametrize("killed", ["apache", "rocketwire"])
def test_a_killed_brokers_store_is_recovered_to_the_same_bytes(
    tmp_path: Path, name_server: ApacheNameServer, killed: str
) -> None:
    """A broker is killed under load; Apache's and rocketwire recover a copy each."""
    apache = SharedStore(tmp_path / "apache", name_server)
    with getattr(apache, killed)() as broker:
        with Connection(apache.broker) as connection:
            create_topic(connection, TOPIC, 3)
            send_all_kinds(connection, TOPIC, "before", queues=3, count=300)
        load = Load(apache.broker, TOPIC, "load", queues=3)
        load.wait_for(300)
        broker.kill()
        load.join()
    apache.remove_unfinished()
    ours = SharedStore(tmp_path / "rocketwire", name_server)
    shutil.copytree(apache.path, ours.path)
    assert (ours.path / "abort").exists()
    with apache.apache():
        look(apache.broker)  # which waits for the index
    with ours.rocketwire():
        pass
    end = max(place + size for _, _, place, size in queue_entries(ours))
    clear_cut_entries(apache, end=end)
    clear_cut_record(apache, end=end)
    for folder in ("commitlog", "consumequeue"):
        assert ours.digests(folder) == apache.digests(folder), folder
    # Apache enters the keys of the last message of the last full file a second time.
    assert indexed(ours) == list(dict.fromkeys(indexed(apache)))
    assert len(ours.digests("index")) > 3


def queue_entries(store: SharedStore) -> Iterator[tuple[Path, int, int, int]]:
    """File and byte of each entry of the queues, the place and the size of its record."""
    for path in (store.path / "consumequeue").glob("*/*/*"):
        for number, (place, size, _) in enumerate(struct.iter_unpack(">qiq", path.read_bytes())):
            yield path, number * 20, place, size


def clear_cut_entries(store: SharedStore, *, end: int) -> None:
    """Zero the entries that lead behind the log's end: written just before the kill, and left by Apache's recovery."""
    for path, at, place, _ in list(queue_entries(store)):
        if place >= end:
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes(20))


def clear_cut_record(store: SharedStore, *, end: int) -> None:
    """Zero the bytes behind the log's end: the part of a message that was written at the kill."""
    newest = max((store.path / "commitlog").iterdir())
    if (position := end - int(newest.name)) >= 0:
        content = newest.read_bytes()
        newest.write_bytes(content[:position].ljust(len(content), b"\0"))


def indexed(store: SharedStore) -> list[tuple[int, int]]:
    """The hash and the place of each entry of the index, in order."""
    slots, entries = int(SIZES["maxHashSlotNum"]), int(SIZES["maxIndexNum"])
    found = []
    for path in sorted((store.path / "index").iterdir()):
        data = path.read_bytes()
        count = int.from_bytes(data[36:40], "big")
        assert 0 < count <= entries
        found += [struct.unpack_from(">iq", data, 40 + slots * 4 + number * 20) for number in range(1, count)]
    return found


def test_long_topics_of_5x_are_read_and_left_as_they_are(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """5.5.0 writes records of version 2 when the topic of a popped message and its group make a long retry topic."""
    topic, group = "t" * 90, "g" * 90
    store = SharedStore(tmp_path, name_server)
    with store.apache("5.5.0", **POPPING), Connection(store.broker) as connection:
        create_topic(connection, topic, 1)
        sent = connection.ask(SEND_MESSAGE_V2, fields("AAA\x01b", batch=False, topic=topic), b"body")
        assert sent.code == 0, sent
        popped: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": 0, "maxMsgNums": 1}
        popped |= {"invisibleTime": 1000, "pollTime": 0, "bornTime": time.time_ns() // 1_000_000, "initMode": 0}
        popped |= {"expType": "TAG", "exp": "*", "order": "false"}
        end = time.monotonic() + WITHIN
        while (answer := connection.ask(POP_MESSAGE, popped)).code != 0:  # its queue is filled behind the log
            assert (answer.code, time.monotonic() < end) == (POLLING_TIMEOUT, True), answer
            time.sleep(0.01)
        wait_until(lambda: MAGIC_V2 in magics(store), "5.5.0 wrote no record of version 2")
    before = store.digests("commitlog", "consumequeue")
    retry = f"%RETRY%{group}_{topic}"
    with store.rocketwire(), Connection(store.broker) as connection:
        answer = connection.ask(GET_MAX_OFFSET, {"topic": retry, "queueId": 0})
        assert (answer.code, answer.fields["offset"]) == (0, "1")
    assert store.digests("commitlog", "consumequeue") == before


def test_topics_of_batch_queues_of_5x_are_left_alone(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """5.5.0 keeps their queues in batchconsumequeue, and would not start with others of them."""
    store = SharedStore(tmp_path, name_server)
    kept = ("commitlog", "consumequeue", "batchconsumequeue")
    of_batches = fields("", batch=False, topic="Batches")
    with store.apache("5.5.0"), Connection(store.broker) as connection:
        create_topic(connection, TOPIC, 1)
        create_topic(connection, "Batches", 1, attributes="+queue.type=BatchCQ")
        Sender(connection).send(single(1, 10))
        for _ in range(3):
            assert connection.ask(SEND_MESSAGE_V2, of_batches, b"one").code == 0
    before = store.digests(*kept)
    assert any(name.startswith("batchconsumequeue/Batches/0/") for name in before)
    assert not any(name.startswith("consumequeue/Batches") for name in before)
    for _ in range(2):
        with store.rocketwire():
            pass
        assert store.digests(*kept) == before
    with store.rocketwire(), Connection(store.broker) as connection:
        answer = connection.ask(SEND_MESSAGE_V2, of_batches, b"refused")
        assert (answer.code, "BatchCQ" in answer.remark) == (MESSAGE_ILLEGAL, True)
        Sender(connection).send(single(2, 10))
    with store.apache("5.5.0"), Connection(store.broker) as connection:
        assert connection.ask(SEND_MESSAGE_V2, of_batches, b"four").fields["queueOffset"] == "3"


def magics(store: SharedStore) -> list[int]:
    """Magic number of each record."""
    return [struct.unpack_from(">i", raw, 4)[0] for _, raw in log(store)]


def test_a_queue_with_an_extension_is_filtered_by_the_client(tmp_path: Path, name_server: ApacheNameServer) -> None:
    """Its tags codes are places in the extension; what rocketwire adds has hashes again, and Apache takes both."""
    store = SharedStore(tmp_path, name_server)
    tagged = [
        FrameRequest(SEND_MESSAGE_V2, fields(f"TAGS\x01Tag{number % 2}", batch=False), bytes([number]))
        for number in range(6)
    ]
    with store.apache(enableConsumeQueueExt="true"), Connection(store.broker) as connection:
        create_topic(connection, TOPIC, 1)
        Sender(connection).send(*tagged)
        wait_for_queue(connection, len(tagged))
        assert numbers(connection, "Tag1") == [1, 3, 5]
    extension = store.digests("consumequeue_ext")
    assert extension
    with store.rocketwire(), Connection(store.broker) as connection:
        Sender(connection).send(*tagged)
        assert numbers(connection, "Tag1") == [0, 1, 2, 3, 4, 5, 1, 3, 5]
    assert store.digests("consumequeue_ext") == extension
    with store.apache(enableConsumeQueueExt="true"), Connection(store.broker) as connection:
        assert numbers(connection, "Tag1") == [1, 3, 5] * 2


def wait_for_queue(connection: Connection, count: int) -> None:
    """Return once the queue has so many messages: Apache's broker fills it behind the log."""
    wait_until(
        lambda: connection.ask(GET_MAX_OFFSET, {"topic": TOPIC, "queueId": 0}).fields["offset"] == str(count),
        f"the queue does not get its {count} messages",
    )


def numbers(connection: Connection, tag: str) -> list[int]:
    """The first bytes of the bodies that a pull with a tag brings from the queue."""
    answer = connection.ask(*pull(TOPIC, subscription=tag))
    assert answer.code == 0, answer
    return [message.body[0] for message in records(answer.body)]
