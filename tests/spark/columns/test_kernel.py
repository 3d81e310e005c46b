"""The kernels: what they make of records is what construct, `store cat` and each other say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.columns import kernel
from rocketwire.spark.schema import arrow_schema
from rocketwire.store.layout.record import SMALLEST
from rocketwire.store.records.walk import WalkEnd
from rocketwire.store.records.walk import walk as walk_of_store
from rocketwire.wire.facts.record import MAGIC_V1
from rocketwire.wire.message import body_crc, decode_record
from rocketwire.wire.properties import decode_properties
from tests.spark.records import KERNELS, cat, positions_in, records, rows_of, stored
from tests.store.support import Golden, draft, open_store, small

NAMES = kernel.RECORD_COLUMNS


@contextlib.contextmanager
def using(name: str) -> Iterator[Any]:
    """The facade with one of the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_kernel", KERNELS[name])
        yield kernel


@pytest.fixture(params=sorted(KERNELS))
def one(request: pytest.FixtureRequest) -> Iterator[Any]:
    with using(request.param) as facade:
        yield facade


def both(call: Any) -> list[Any]:
    """What a call gives with each kernel."""
    found = []
    for name in KERNELS:
        with using(name) as facade:
            found.append(call(facade))
    return found


def same(found: list[Any]) -> Any:
    for other in found[1:]:
        assert _plain(other) == _plain(found[0])
    return found[0]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    if isinstance(value, pa.Array):  # times may be ones that Python cannot show
        return value.type, (value.cast(pa.int64()) if pa.types.is_timestamp(value.type) else value).to_pylist()
    if isinstance(value, pa.RecordBatch):
        return value.schema, value.num_rows, _plain(value.columns)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


@pytest.mark.slow
@given(st.lists(records(), max_size=8), st.integers(0, 1 << 40))
def test_every_column_of_any_record_is_as_store_cat_shows_it(fields: list[dict[str, Any]], base: int) -> None:
    log = stored(fields, base)
    positions = positions_in(log)
    for decompress in (True, False):
        found = same(both(lambda facade, d=decompress: facade.arrays(log, positions, NAMES, decompress=d)))
        expected = [cat(log, at, decompressed=decompress) for at in positions.tolist()]
        assert rows_of(found.batch.columns, NAMES) == expected
        assert [column.type for column in found.batch.columns] == [field.type for field in arrow_schema(NAMES)]
        bad = [row["body"] is None for row in expected]
        assert found.bad is None or found.bad.tolist() == bad
        assert any(bad) == (found.bad is not None)


@given(st.lists(records(), min_size=1, max_size=6), st.data())
def test_columns_can_be_asked_for_in_any_choice_and_order(fields: list[dict[str, Any]], data: st.DataObject) -> None:
    log = b"\xff" * 7 + stored(fields)
    positions = positions_in(log[7:]) + 7
    chosen = positions[data.draw(st.lists(st.booleans(), min_size=len(fields), max_size=len(fields)))]
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    found = same(both(lambda facade: facade.arrays(bytearray(log), chosen, names, decompress=True)))
    whole = kernel.arrays(log, positions, NAMES, decompress=True)
    wanted = pa.array(np.isin(positions, chosen))
    for name, column in zip(names, found.batch.columns, strict=True):
        assert column.equals(whole.batch.columns[NAMES.index(name)].filter(wanted))


@given(st.lists(records(st.integers(-(1 << 63), (1 << 63) - 1)), max_size=4))
def test_times_beyond_what_arrow_has_are_the_nearest_it_has(fields: list[dict[str, Any]]) -> None:
    log = stored(fields)
    for name in ("born_timestamp", "store_timestamp"):
        found = same(both(lambda facade, n=name: facade.arrays(log, positions_in(log), [n], decompress=True)))
        expected = [min(max(each[name] * 1000, -(1 << 63)), (1 << 63) - 1) for each in fields]
        assert found.batch.columns[0].cast(pa.int64()).to_pylist() == expected


@given(st.lists(records(), max_size=6), st.binary(max_size=120), st.data())
def test_a_walk_ends_where_that_of_the_store_does(
    fields: list[dict[str, Any]], tail: bytes, data: st.DataObject
) -> None:
    base = data.draw(st.sampled_from([0, 1 << 33]))
    log = bytearray(stored(fields, base) + tail)
    for _ in range(data.draw(st.integers(0, 2))):
        if log:
            log[data.draw(st.integers(0, len(log) - 1))] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(0, len(log)) | st.just(len(log)))
    whole, most = data.draw(st.booleans()), data.draw(st.sampled_from([0, 1, 3, 99]))
    told = data.draw(st.sampled_from([base, None]))
    found = same(both(lambda facade: facade.walk(log, base=told, position=0, end=end, whole=whole, most=most)))
    expected = walk_of_store(log, base=told, end=end, whole=whole, most=most, check_crc=False)
    assert found.positions.tolist() == expected.records.position.tolist()
    assert found[1:] == expected[1:]


@pytest.mark.costly
def test_a_walk_steps_over_large_records_and_over_what_looks_like_one_in_a_body(one: Any) -> None:
    plain = _fields(body=b"x")
    inner = stored([plain] * 3)
    fields = [plain] * 2000 + [_fields(body=inner)] + [plain] * 10 + [_fields(body=bytes(5000))] * 1500 + [plain] * 2000
    log = stored(fields, 77)
    found = one.walk(log, base=77, position=0, end=len(log), whole=False, most=1 << 20)
    assert found.positions.tolist() == positions_in(log).tolist()
    assert found[1:] == (len(log), WalkEnd.MORE, "")
    found = one.walk(log, base=None, position=0, end=len(log), whole=False, most=2005)
    assert found.positions.tolist() == positions_in(log)[:2005].tolist()
    assert (found.next, found.stop) == (positions_in(log)[2005], WalkEnd.FULL)


def test_a_walk_of_what_is_not_in_the_buffer(one: Any) -> None:
    for position, end in ((-1, 5), (6, 5), (0, 11)):
        with pytest.raises(ValueError, match="no range of a buffer of 10 bytes"):
            one.walk(bytes(10), base=0, position=position, end=end, whole=False, most=1)
    assert one.walk(b"", base=0, position=0, end=0, whole=False, most=1).stop is WalkEnd.MORE


@given(st.lists(records(), min_size=1, max_size=6), st.data())
def test_places_are_checked_one_by_one(fields: list[dict[str, Any]], data: st.DataObject) -> None:
    log = bytearray(stored(fields, 100))
    for _ in range(data.draw(st.integers(0, 3))):
        log[data.draw(st.integers(0, len(log) - 1))] ^= data.draw(st.integers(1, 255))
    good = positions_in(stored(fields, 100))
    places = st.tuples(
        st.sampled_from(good.tolist()) | st.integers(-200, len(log) + 200), st.integers(-1, 300) | st.just(0)
    )
    pairs = data.draw(st.lists(places, max_size=6))
    asked = np.array([at for at, _ in pairs] + good.tolist(), np.int64)
    sizes = np.array([size for _, size in pairs] + np.diff(np.append(good, len(log))).tolist(), np.int32)
    found = same(both(lambda facade: facade.check(log, asked, sizes, base=100)))
    expected = []
    for at, size in zip(asked.tolist(), sizes.tolist(), strict=True):
        inside = 0 <= at <= len(log) - max(size, SMALLEST)
        walked = walk_of_store(log, base=100, position=at, whole=True, check_crc=False, most=1) if inside else None
        expected.append(walked is not None and walked.records.size.tolist() == [size])
    assert found.tolist() == expected


def test_every_place_needs_its_size(one: Any) -> None:
    with pytest.raises(ValueError, match="1 positions with 2 sizes"):
        one.check(b"", np.zeros(1, np.int64), np.zeros(2, np.int64), base=0)


@pytest.mark.slow
@given(st.lists(records(), max_size=8), st.data())
def test_what_is_selected_by(fields: list[dict[str, Any]], data: st.DataObject) -> None:
    log = stored(fields)
    positions = positions_in(log)
    names = [
        n for n in NAMES if arrow_schema([n]).field(0).type in (pa.int32(), pa.int64()) or n.endswith("_timestamp")
    ]
    sizes = np.diff(np.append(positions, len(log))).tolist()
    told = [
        each | {"physical_offset": at, "store_size": size}
        for each, at, size in zip(fields, positions.tolist(), sizes, strict=True)
    ]
    for name, column in zip(names, same(both(lambda facade: facade.heads(log, positions, names))), strict=True):
        assert column.tolist() == [each[name] for each in told]
        assert column.dtype == ("int32" if arrow_schema([name]).field(0).type == pa.int32() else "int64")
    for codes, known in both(lambda facade: facade.topics(log, positions)):
        assert [known[code] for code in codes.tolist()] == [each["topic"] for each in fields]
        assert len(set(known)) == len(known)
        assert codes.dtype == np.int32
    assert same(both(lambda facade: facade.bodies_good(log, positions))).tolist() == [True] * len(fields)
    tags = [decode_properties(each["properties"].decode("utf-8", "replace")).get("TAGS") for each in fields]
    some = st.sampled_from(sorted({tag for tag in tags if tag is not None} | {"", "a", "value"}))
    wanted = data.draw(st.frozensets(some, max_size=3))
    asked = frozenset(tag.encode() for tag in wanted)
    assert same(both(lambda facade: facade.tags_are(log, positions, asked))).tolist() == [tag in wanted for tag in tags]


def test_bodies_are_checked_by_their_crc(one: Any) -> None:
    bodies = [b"a", b"", b"other", b"", b"a" * 3000]
    log = stored(
        [
            _fields(body=body) | {"body_crc": crc}
            for body, crc in zip(bodies, [body_crc(b"a"), 7, 7, 0, -1], strict=True)
        ]
    )
    assert one.bodies_good(log, positions_in(log)).tolist() == [True, True, False, True, False]


@given(st.lists(records(), min_size=1, max_size=3), st.lists(st.integers(-300, 1000), max_size=4), st.data())
def test_nothing_raises_anything_but_value_error(
    fields: list[dict[str, Any]], positions: list[int], data: st.DataObject
) -> None:
    log = bytearray(stored(fields))
    for _ in range(data.draw(st.integers(0, 9))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))
    log = log[: data.draw(st.integers(0, len(log)))]
    places = np.array(positions + positions_in(stored(fields)).tolist(), np.int64)
    for asked in (places, places[-len(fields) :], places[-1:]):
        for call in (
            lambda facade, p=asked: facade.arrays(log, p, NAMES, decompress=True),
            lambda facade, p=asked: facade.heads(log, p, ["store_timestamp", "flag"]),
            lambda facade, p=asked: facade.topics(log, p),
            lambda facade, p=asked: facade.tags_are(log, p, frozenset([b"a"])),
            lambda facade, p=asked: facade.bodies_good(log, p),
        ):
            with contextlib.suppress(ValueError):
                both(call)
        same(both(lambda facade, p=asked: facade.check(log, p, np.full(len(p), len(log)), base=0)))


def test_of_no_records_there_are_empty_columns() -> None:
    nothing = np.empty(0, np.int64)
    for each in (*KERNELS.values(), kernel):
        assert [column.tolist() for column in each.heads(b"", nothing, ["flag", "store_timestamp"])] == [[], []]
        assert each.check(b"", nothing, nothing, base=0).tolist() == []
        assert each.tags_are(b"", nothing, frozenset([b"a"])).tolist() == []
        assert each.bodies_good(b"", nothing).tolist() == []
        assert each.topics(b"", nothing)[1] == []
    for each in KERNELS.values():
        batch = each.columns(b"", nothing, NAMES)
        assert (batch.schema, batch.num_rows) == (arrow_schema(NAMES), 0)


def test_a_buffer_that_arrow_cannot_count(monkeypatch: pytest.MonkeyPatch) -> None:
    log = stored([_fields()])
    monkeypatch.setattr(kernel, "INT32_MAX", len(log) - 1)
    with pytest.raises(ValueError, match="a buffer of 92 bytes is too large"):
        kernel.arrays(log, positions_in(log), ["body"], decompress=True)


def test_names_that_records_do_not_have(one: Any) -> None:
    for name in ("broker", "file", "_corrupt_record", "nothing"):
        with pytest.raises(ValueError, match="no column of records"):
            one.arrays(b"", np.empty(0, np.int64), [name], decompress=True)
    for name in ("topic", "body_length", "magic"):
        with pytest.raises(ValueError, match="no fixed field of records"):
            one.heads(b"", np.empty(0, np.int64), [name])


def test_every_message_of_a_store_of_our_own(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 16))
    store.append([draft(number, topic=f"T{number % 3}", body=b"b" * (number % 50)) for number in range(500)])
    store.close()
    seen = 0
    for path in sorted((tmp_path / "commitlog").iterdir()):
        log, base = path.read_bytes(), int(path.name)
        found = same(both(lambda f, b=log, o=base: f.walk(b, base=o, position=0, end=len(b), whole=True, most=1 << 20)))
        arrays = same(both(lambda f, b=log, p=found.positions: f.arrays(b, p, NAMES, decompress=True)))
        assert rows_of(arrays.batch.columns, NAMES) == [cat(log, at) for at in found.positions.tolist()]
        seen += len(found.positions)
    assert seen == 500


@pytest.mark.costly
def test_every_message_of_a_golden_store(golden: Golden) -> None:
    messages = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    seen = 0
    for path in sorted((golden.untouched / "commitlog").iterdir()):
        log, base = path.read_bytes(), int(path.name)
        found = same(both(lambda f, b=log, o=base: f.walk(b, base=o, position=0, end=len(b), whole=True, most=1 << 20)))
        assert found.stop in (WalkEnd.BLANK, WalkEnd.UNWRITTEN)
        arrays = same(both(lambda f, b=log, p=found.positions: f.arrays(b, p, NAMES, decompress=True)))
        assert rows_of(arrays.batch.columns, NAMES) == [cat(log, at) for at in found.positions.tolist()]
        assert same(both(lambda f, b=log, p=found.positions: f.bodies_good(b, p))).all()
        seen += len(found.positions)
        for at in found.positions.tolist():
            decode_record(log, at)
    assert seen == len({line["physicalOffset"] for line in messages}) > 0


def _fields(body: bytes = b"", **changes: Any) -> dict[str, Any]:
    return {
        "total_size": 0,
        "magic": MAGIC_V1,
        "body_crc": body_crc(body),
        "queue_id": 0,
        "flag": 0,
        "queue_offset": 0,
        "sys_flag": 0,
        "born_timestamp": 0,
        "born_host": bytes(8),
        "store_timestamp": 0,
        "store_host": bytes(8),
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body": body,
        "topic": b"T",
        "properties": b"",
    } | changes
