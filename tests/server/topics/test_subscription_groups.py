from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.errors import NameInvalid
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.store.errors import StoreNotWritable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from tests.server.harness import Clock, done, small_config


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "subscriptionGroup.json"


def opened(file: Path, **changes: Any) -> SubscriptionGroups:
    live = LiveConfig(small_config(file.parent, **changes), Clock())
    return SubscriptionGroups(GroupTable.open(file, clock=Clock()), live[TopicKeys], live[LimitKeys])


def test_the_groups_of_every_broker_exist_and_are_saved_with_the_first_change(file: Path) -> None:
    groups = opened(file)
    groups.make_built_in()
    assert not file.exists()
    assert groups.find("SELF_TEST_C_GROUP") is not None
    groups.find("G")
    text = file.read_text()
    for group in ("TOOLS_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONSAPI_PULL"):
        assert f'"{group}"' in text
    assert '"counter":1,' in text
    opened(file).make_built_in()
    assert file.read_text() == text


def test_an_unknown_group_is_created_and_saved(file: Path) -> None:
    made = opened(file).find("G")
    assert made == SubscriptionGroupConfig(group_name="G")
    assert opened(file, auto_create_subscription_group=False).find("G") == made


def test_new_groups_are_saved_together_in_parts_of_64(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    persist = GroupTable.persist

    def counted(table: GroupTable) -> None:
        written.append(len(table))
        persist(table)

    monkeypatch.setattr(GroupTable, "persist", counted)
    groups = opened(file)
    names = [f"G{number}" for number in range(100)]
    assert done(groups.find_all(names)) == [SubscriptionGroupConfig(group_name=name) for name in names]
    assert written == [64, 100]
    done(groups.find_all(names))
    assert written == [64, 100]
    with pytest.raises(NameInvalid):
        done(groups.find_all(["New", "a.b", "Newer"]))
    assert written == [64, 100, 101]
    assert opened(file).table.names() == [*names, "New"]


def test_an_unknown_group_is_not_created_when_that_is_off(file: Path) -> None:
    groups = opened(file, auto_create_subscription_group=False)
    assert groups.find("G") is None
    assert groups.find("CID_RMQ_SYS_TRANS") is not None


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ("", "the specified group is blank"),
        ("g" * 256, "the specified group is longer than group max length 255."),
        ("a.b", "the specified group[a.b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
    ],
)
def test_a_bad_name_creates_no_group_but_an_existing_one_counts(file: Path, group: str, problem: str) -> None:
    groups = opened(file)
    with pytest.raises(NameInvalid) as caught:
        groups.find(group)
    assert str(caught.value) == problem
    assert not file.exists()
    table = GroupTable.open(file, clock=Clock())
    table.put(SubscriptionGroupConfig(group_name=group))  # Apache's
    table.persist()
    assert opened(file).find(group) == SubscriptionGroupConfig(group_name=group)


def test_a_group_that_cannot_be_saved_consumes_nevertheless(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: GroupTable) -> None:
        raise StoreNotWritable("here", "disk full")

    monkeypatch.setattr(GroupTable, "persist", full)
    groups = opened(file)
    assert groups.find("G") is groups.find("G") is not None
    assert "new groups are not written down: store here cannot be written: disk full" in caplog.text


@pytest.mark.parametrize("broker", [True, False])
@pytest.mark.parametrize("own", [True, False, None])
def test_members_are_notified_when_broker_and_group_want_it(file: Path, broker: bool, own: bool | None) -> None:
    clock = Clock()
    table = GroupTable.open(file, clock=clock)
    if own is not None:
        table.put(SubscriptionGroupConfig(group_name="G", notify_consumer_ids_changed_enable=own))
    keys = TopicKeys(notify_consumer_ids_changed_enable=broker)
    groups = SubscriptionGroups(table, LiveGroup(keys), LiveGroup(LimitKeys()))
    assert groups.notifies("G") is (broker and own is not False)


def test_a_group_is_added_changed_and_removed(file: Path) -> None:
    groups = opened(file)
    for times in (3, 4):
        groups.put(SubscriptionGroupConfig(group_name="G", retry_max_times=times))
        assert opened(file).table.get("G") == SubscriptionGroupConfig(group_name="G", retry_max_times=times)
    with pytest.raises(NameInvalid):
        groups.put(SubscriptionGroupConfig(group_name="a.b"))
    groups.remove("None")
    assert groups.table.data_version.counter == 2
    groups.remove("G")
    assert len(opened(file).table) == 0
