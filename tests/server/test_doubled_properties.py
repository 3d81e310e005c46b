"""Properties that occur twice, in a message or behind a batch's: the last one with a value counts everywhere.

Apache's outcomes of such sends are golden data; ours are compared with a rebuild from the log.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.store.index.key_column import positive_hash
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT as QUEUE_ENTRY
from rocketwire.store.layout.index import ENTRY_STRUCT, HEADER_SIZE, HEADER_STRUCT, SLOT_SIZE
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.query import QueryMessageRequestHeader
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import MessageRecord
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.property_edits import remove_properties
from tests.server.harness import batch_body, records, run, send_ext, topic_ext
from tests.server.kernel_runs import Run, files_of, running
from tests.store.offline.support import damages
from tests.wire import golden

TOPIC: Final = "BatchGolden"
V2 = RequestCode.SEND_MESSAGE_V2
BATCH = RequestCode.SEND_BATCH_MESSAGE
CHANGES: Final[dict[str, Any]] = {"broker_cluster_name": "DefaultCluster", "mapped_file_size_commit_log": 1 << 20}
PLAIN: Final = encode_frame(
    Header(code=V2, opaque=0, flag=0, version=513, ext=send_ext(TOPIC, unique_key="U", keys="k", tags="A")), b"", 0
)
both_ways = pytest.mark.parametrize("kernel", [False] if native.kernel is None else [False, True])


class Stored(NamedTuple):
    """A record, the tags code of its queue entry, and the hashes of its index entries."""

    message: MessageRecord
    tags_code: int
    hashes: list[int]


def make_topic(served: Run) -> None:
    ext = topic_ext(TOPIC, 1)
    header = Header(code=RequestCode.UPDATE_AND_CREATE_TOPIC, opaque=-1, flag=0, version=407, ext=ext)
    assert served.read(encode_frame(header, b"", 0))[-1].header.code == 0


def stored_in(store: Path) -> list[Stored]:
    """All messages of a store with one queue, in their order."""
    files = files_of(store)
    log = b"".join(data for name, data in files.items() if name.startswith("commitlog"))
    queue = b"".join(data for name, data in files.items() if name.startswith(f"consumequeue/{TOPIC}"))
    index: dict[int, list[int]] = {}
    for name, data in files.items():
        if name.startswith("index"):
            *_, slots, count = HEADER_STRUCT.unpack_from(data)
            first = HEADER_SIZE + 1000 * SLOT_SIZE + ENTRY_STRUCT.size
            assert slots <= 1000
            entries = ENTRY_STRUCT.iter_unpack(data[first : first + (count - 1) * ENTRY_STRUCT.size])
            for hashed, offset, _, _ in entries:
                index.setdefault(offset, []).append(hashed)
    found = []
    for offset, size, tags_code in QUEUE_ENTRY.iter_unpack(queue):
        if size:
            (message,) = records(log[offset : offset + size])
            found.append(Stored(message, tags_code, index.get(offset, [])))
    return found


def declared(properties: bytes) -> tuple[int, list[int]]:
    """The results of the rule for a text: the tags code, and the hashes of the keys."""
    found = decode_properties(properties.decode("utf-8", "replace"))
    keys = [found["UNIQ_KEY"]] if "UNIQ_KEY" in found else []
    keys += [word for word in found.get("KEYS", "").split(" ") if word]
    return string_hash(found.get("TAGS", "")), [positive_hash(f"{TOPIC}#{key}") for key in keys]


def send_all(served: Run, frames: Sequence[bytes]) -> None:
    """Send a plain message, for which Python creates the queue, and these, which the kernel serves if there is one."""
    make_topic(served)
    for each in (PLAIN, *frames):
        before = served.by_kernel
        (answer,) = served.read(each).values()
        assert answer.header.code == 0, answer.header.remark
        assert served.by_kernel - before == (len(each) if served.kernel and each is not PLAIN else 0)


def requests(cases: Sequence[dict[str, Any]]) -> list[bytes]:
    return [base64.b64decode(case["request"]) for case in cases]


@both_ways
async def test_a_5x_clients_batch_is_stored_and_indexed_as_by_apache(tmp_path: Path, kernel: bool) -> None:
    cases = golden.batches("4.9.7")["cases"]
    with running(tmp_path, kernel=kernel, **CHANGES) as served:
        send_all(served, requests(cases))
    _, *found = stored_in(tmp_path)
    assert not damages(tmp_path)
    expected = [(case, each) for case in cases for each in case["stored"]]
    for (case, of_apache), ours in zip(expected, found, strict=True):
        text = remove_properties(ours.message.properties, (b"MSG_REGION", b"TRACE_ON")).decode()  # 4.9.7 stores none
        if case["name"].startswith("a single"):  # ours stand as they came, Apache's in a map's order
            assert decode_properties(text) == decode_properties(of_apache["properties"])
        else:
            assert text == of_apache["properties"], case["name"]
        assert (ours.tags_code, ours.hashes) == (of_apache["tagsCode"], of_apache["index"]), case["name"]


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_apache_reads_its_texts_by_the_rule(version: str) -> None:
    for case in golden.batches(version)["cases"]:
        for each in case["stored"]:
            tags_code, index = declared(each["properties"].encode())
            assert tags_code == each["tagsCode"]
            assert index == each.get("index", index)


@both_ways
async def test_a_5x_clients_batch_is_found_by_the_keys_by_which_apache_finds_it(tmp_path: Path, kernel: bool) -> None:
    recorded = golden.batches("4.9.7")
    with running(tmp_path, kernel=kernel, **CHANGES) as served:
        send_all(served, requests(recorded["cases"]))
        while served.broker.base.store.dispatch_index():
            pass
        for opaque, (key, offsets) in enumerate(recorded["found"].items()):
            fields = QueryMessageRequestHeader(
                topic=TOPIC, key=key, max_num=32, begin_timestamp=0, end_timestamp=1 << 62, unique_key_query=True
            )
            header = Header(code=RequestCode.QUERY_MESSAGE, opaque=opaque, flag=0, version=513, ext=encode_ext(fields))
            answer = served.read(encode_frame(header, b"", 0))[opaque]
            assert sorted(each.queue_offset - 1 for each in records(answer.body)) == offsets, key
    (batch, *_) = recorded["cases"]
    # 4.9.7 shows consumers the batch's id for each message, and finds none by the ids that the producer got.
    assert recorded["found"][batch["consumer"][0]] == [0, 1, 2]
    assert [recorded["found"][each] for each in batch["producer"]] == [[], [], []]


names = st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "KEYS", "TAGS", "UNIQ_KEY", "WAIT", "CLUSTER", "a", ""])
values = st.sampled_from(["", "A", "B", "a b", " c  a", "true", "标签😀", "x\x01y"]) | st.text("ab é", max_size=4)
items = st.tuples(names, st.sampled_from(["\x01", "\x01", "\x01", ""]), values).map("".join)
texts = st.builds(
    str.__add__, st.lists(items, max_size=8).map("\x02".join), st.sampled_from(["", "", "\x02", "\x02\x02"])
)


@st.composite
def sends(draw: st.DrawFn) -> bytes:
    """A message, or a batch of some."""
    code, body = V2, b"body"
    if batch := draw(st.booleans()):
        code, body = BATCH, b"".join(batch_body([b"x"], draw(texts)) for _ in range(draw(st.integers(1, 3))))
    properties = draw(texts)
    # A binary header with an empty value is left to Python.
    serialization = draw(st.integers(0, 1)) if properties else 0
    ext = send_ext(TOPIC, properties=properties, batch=batch)
    return encode_frame(Header(code=code, opaque=0, flag=0, version=513, ext=ext), body, serialization)


async def live_and_rebuilt(store: Path, frames: Sequence[bytes], kernel: bool) -> tuple[list[Stored], list[Stored]]:
    with running(store, kernel=kernel, **CHANGES) as served:
        send_all(served, frames)
    live = stored_in(store)
    assert not damages(store)
    for folder in ("consumequeue", "index"):
        shutil.rmtree(store / folder, ignore_errors=True)
    with running(store, kernel=kernel, **CHANGES):
        pass
    return live, stored_in(store)


@both_ways
@given(st.lists(sends(), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_the_index_equals_that_of_a_rebuild_and_of_the_rule(
    tmp_path_factory: pytest.TempPathFactory, kernel: bool, frames: list[bytes]
) -> None:
    live, rebuilt = run(live_and_rebuilt, tmp_path_factory.mktemp("store"), frames, kernel)
    assert live == rebuilt
    assert live
    for each in live:
        assert (each.tags_code, each.hashes) == declared(each.message.properties)
