"""Columns beside a store, compared with what is found in the log itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli import main
from rocketwire.store.archive.columns.extend import extend
from rocketwire.store.archive.columns.manifest import ColumnsUnfit, Manifest
from rocketwire.store.archive.columns.questions import Columns
from rocketwire.store.archive.plan.plan import find
from rocketwire.store.archive.plan.select import Wanted
from rocketwire.store.archive.read.directory import discover
from tests.store.support import draft, open_store, small


def made(root: Path, cache: Path, **options: Any) -> Manifest:
    return extend(discover(str(root)), cache, lambda trouble: pytest.fail(str(trouble)), **options)


def same(root: Path, cache: Path) -> None:
    directory = discover(str(root))
    columns = Columns(directory, cache)
    every = list(find(directory, Wanted(system_topics=True), lambda _: None))
    minutes = Counter((one.message.topic, one.tags, one.message.store_timestamp // 60_000 * 60_000) for one in every)
    assert columns.count(["topic", "tag", "minute"]) == minutes
    conditions: list[dict[str, Any]] = [{}, {"key": "k7"}, {"key": "U0000009"}, {"key": "none"}]
    conditions += [{"tags": frozenset({"Tag1"})}, {"topics": frozenset({"A"})}]
    conditions += [{"since": every[len(every) // 2].message.store_timestamp}] if every else []
    for condition in conditions:
        wanted = Wanted(**condition)
        assert list(columns.find(wanted, lambda _: None)) == [one for one in every if wanted.takes(one)]


def test_the_log_grows_and_a_kill_leaves_the_older_state(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    store = open_store(small(root))
    for turn in range(4):
        store.append([draft(turn * 20 + number, topic="AB"[number % 2], queue_id=number % 3) for number in range(20)])
        older = (cache / "manifest").read_bytes() if turn else b""
        assert made(root, cache, rows=15).rows == 20 * (turn + 1)
        same(root, cache)
        if turn == 2:  # killed before the manifest was replaced
            (cache / "manifest").write_bytes(older)
            assert Columns(discover(str(root)), cache).manifest.rows == 40
            assert made(root, cache).rows == 60
            assert len(list(cache.glob("segment-*"))) == len(made(root, cache).segments)
            same(root, cache)
    store.close()


def filled(root: Path, count: int = 30, **changes: Any) -> None:
    store = open_store(small(root))
    store.append([draft(number, **changes) for number in range(count)])
    store.close()


def test_another_store_and_a_cut_log(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    filled(root)
    made(root, cache)
    filled(tmp_path / "other", topic="Other")
    filled(tmp_path / "cut", 10)
    for other in ("other", "cut"):
        with pytest.raises(ColumnsUnfit, match="another store"):
            made(tmp_path / other, cache)
    same(root, cache)
    assert main(["store", "columns", str(tmp_path / "other"), "--to", str(cache)]) == 0
    same(tmp_path / "other", cache)


def test_a_damaged_byte_of_any_file_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    filled(root)
    made(root, cache)
    used = ("tag", "topic", "minute", "key_hash", "key_row", "key_fence", "physical_offset", "size", "store_timestamp")
    for file in [cache / "manifest", *(next(cache.glob(f"*/{name}/data.ninja")) for name in used)]:
        whole = file.read_bytes()
        file.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        with pytest.raises(ColumnsUnfit):
            same(root, cache)
        file.write_bytes(whole)
    same(root, cache)
    (cache / "manifest").write_bytes(b"x")
    assert main(["store", "cat", str(root), "--columns", str(cache), "--key", "k7"]) != 0
    assert main(["store", "columns", str(root), "--to", str(cache)]) == 0
    assert "made anew" in capsys.readouterr().err
    assert main(["store", "cat", str(root), "--columns", str(cache), "--key", "k7", "--json"]) == 0
    assert '"keys":["k7"]' in capsys.readouterr().out
    assert main(["store", "count", str(root), "--columns", str(cache), "--by", "tag", "--json"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == '{"tag":"Tag0","count":10}'
