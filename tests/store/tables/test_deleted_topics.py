from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.errors import ConfigInvalid, StoreNotWritable
from rocketwire.store.tables import deleted_topics
from rocketwire.store.tables.deleted_topics import DeletedTopics


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "deletedTopics.json"


def test_no_topic_was_deleted(path: Path) -> None:
    table = DeletedTopics.open(path)
    assert not table.unfinished
    assert not table.dead_before(0)


def test_a_deletion_survives_a_kill_until_it_is_done(path: Path) -> None:
    table = DeletedTopics.open(path)
    table.begin("T", 500, log_start=0)
    found = DeletedTopics.open(path)
    assert found.unfinished == {"T"}
    assert found.dead_before(0) == {"T": 500}
    table.finish("T")
    assert DeletedTopics.open(path).unfinished == {"T"}
    table.save()
    found = DeletedTopics.open(path)
    assert not found.unfinished
    assert found.dead_before(499) == {"T": 500}
    assert not found.dead_before(500)


def test_the_last_deletion_of_a_topic_counts(path: Path) -> None:
    table = DeletedTopics.open(path)
    table.begin("T", 500, log_start=0)
    table.finish("T")
    table.begin("T", 900, log_start=0)
    assert DeletedTopics.open(path).dead_before(0) == {"T": 900}
    assert table.unfinished == {"T"}


def test_deletions_whose_messages_are_removed_are_forgotten(path: Path) -> None:
    table = DeletedTopics.open(path)
    table.begin("T", 500, log_start=0)
    table.begin("U", 900, log_start=500)
    assert DeletedTopics.open(path).dead_before(0) == {"U": 900}


def test_the_number_of_deletions_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_topics, "MOST_DELETED", 3)
    table = DeletedTopics.open(path)
    for number in range(5):
        table.begin(f"T{number}", 500, log_start=0)
    assert list(table.dead_before(0)) == ["T2", "T3", "T4"]


def test_a_deletion_that_cannot_be_noted_is_none(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.mkdir()
    table = DeletedTopics.open(path / "deletedTopics.json")
    (path / "deletedTopics.json.next").mkdir()
    with pytest.raises(StoreNotWritable):
        table.begin("T", 500, log_start=0)
    assert not table.unfinished


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"deletedTopics":{"T":{}}}', '{"deletedTopics":{"T":{"logOffset":"x"}}}']
)
def test_another_text_is_an_error(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigInvalid):
        DeletedTopics.open(path)
