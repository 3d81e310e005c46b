from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.name_server import key_values as key_value_config
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import StoreError
from rocketwire.store.tables.key_values import KeyValueFile
from tests.server.harness import run_inline, settle
from tests.store.crash_disk import refusal


def nothing(_: StoreError | None) -> None:
    pass


class Disk(FileSystem):
    full = False

    def replace(self, path: str, data: bytes) -> None:
        if self.full:
            raise refusal(errno.ENOSPC)
        super().replace(path, data)


class Setup:
    """Values whose writes wait until the test permits them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.disk = Disk()
        self.allowed = trio.Semaphore(0)
        self.writes = 0
        self.outcomes: list[tuple[str, str | None]] = []
        self.values = KeyValueConfig(KeyValueFile(path, self.disk), self.run)

    async def run(self, sync_fn: Callable[..., Any], *args: Any) -> Any:
        await self.allowed.acquire()
        self.writes += 1
        return await run_inline(sync_fn, *args)

    def done(self, name: str) -> Callable[[StoreError | None], None]:
        return lambda error: self.outcomes.append((name, None if error is None else type(error).__name__))

    async def write(self) -> None:
        self.allowed.release()
        await settle()

    def saved(self) -> dict[str, dict[str, str]]:
        return KeyValueFile(self.path).load()


@pytest.fixture
def setup(tmp_path: Path, nursery: trio.Nursery) -> Setup:
    made = Setup(tmp_path / "config" / "kvConfig.json")
    nursery.start_soon(made.values.run)
    return made


async def test_the_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch, setup: Setup) -> None:
    monkeypatch.setattr(key_value_config, "MOST_VALUES", 20)
    monkeypatch.setattr(key_value_config, "_EACH_VALUE", 0)
    values = setup.values
    values.put("names", "key", "0123456789", nothing)
    values.put("names", "key", "0123456789ab", nothing)
    with pytest.raises(LimitExceeded, match=r"keyValues=20$"):
        values.put("names", "k", "", nothing)
    with pytest.raises(LimitExceeded):
        values.put("names", "key", "0123456789abc", nothing)
    assert values.namespace("names") == {"key": "0123456789ab"}
    values.delete("names", "key", nothing)
    values.put("names", "k", "0123456789ab", nothing)
    with pytest.raises(LimitExceeded):
        values.put("nn", "a", "", nothing)


async def test_each_value_and_namespace_counts_more_than_its_characters(
    monkeypatch: pytest.MonkeyPatch, setup: Setup
) -> None:
    monkeypatch.setattr(key_value_config, "MOST_VALUES", 3 * 128 + 4)
    values = setup.values
    values.put("N", "a", "", nothing)
    values.put("N", "b", "1", nothing)
    with pytest.raises(LimitExceeded):
        values.put("N", "c", "", nothing)
    values.delete("N", "a", nothing)
    with pytest.raises(LimitExceeded):
        values.put("M", "a", "", nothing)  # two more
    values.put("N", "c", "", nothing)


async def test_loaded_values_count(monkeypatch: pytest.MonkeyPatch, setup: Setup) -> None:
    monkeypatch.setattr(key_value_config, "MOST_VALUES", 2 * 128 + 10)
    setup.values.put("abc", "d", "efghij", nothing)
    await setup.write()
    again = Setup(setup.path).values
    with pytest.raises(LimitExceeded):
        again.put("abc", "d", "efghijk", nothing)
    again.put("abc", "d", "012345", nothing)


async def test_a_change_is_answered_when_it_is_on_the_disk(setup: Setup) -> None:
    setup.values.put("N", "k", "v", setup.done("first"))
    await settle()
    assert (setup.outcomes, setup.values.get("N", "k"), setup.saved()) == ([], "v", {})
    await setup.write()
    assert (setup.outcomes, setup.saved()) == ([("first", None)], {"N": {"k": "v"}})


async def test_changes_during_a_write_are_written_together(setup: Setup) -> None:
    setup.values.put("N", "k", "v", setup.done("first"))
    await settle()
    setup.values.put("M", "a", "1", setup.done("second"))
    setup.values.delete("N", "k", setup.done("third"))
    await settle()
    await setup.write()
    assert setup.outcomes == [("first", None)]
    await setup.write()
    assert setup.outcomes[1:] == [("second", None), ("third", None)]
    assert (setup.writes, setup.saved()) == (2, {"N": {}, "M": {"a": "1"}})


async def test_removing_a_missing_value_writes_nothing(setup: Setup) -> None:
    for namespace in ("N", "M"):
        setup.values.delete(namespace, "a", setup.done(namespace))
    assert setup.outcomes == [("N", None), ("M", None)]
    await setup.write()
    assert setup.writes == 0
    assert (setup.values.get("N", "k"), setup.values.namespace("N")) == (None, None)


async def test_a_change_that_the_disk_refuses_is_answered_so(setup: Setup) -> None:
    setup.disk.full = True
    setup.values.put("N", "k", "v", setup.done("first"))
    await setup.write()
    assert setup.outcomes == [("first", "StoreNotWritable")]
    setup.disk.full = False
    setup.values.put("N", "a", "b", setup.done("second"))
    await setup.write()
    assert (setup.outcomes[1:], setup.saved()) == ([("second", None)], {"N": {"k": "v", "a": "b"}})
