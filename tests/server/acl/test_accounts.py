from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketwire.server.acl.access_rules import ADMIN_CODES, CODES_UNPROTECTED_BY_APACHE
from rocketwire.server.acl.accounts import Account, AccountInvalid, account, check_permissions
from rocketwire.server.acl.resources import PUB, SUB, NeededPermissions, sent_to
from rocketwire.server.acl.white_list import WhiteListInvalid
from rocketwire.wire.bodies.acl import PlainAccessConfig

NAMES = ["A", "B", "C"]
permission = st.sampled_from(["DENY", "PUB", "SUB", "PUB|SUB", "SUB|PUB", "nothing"])
tables = st.dictionaries(st.sampled_from(NAMES), permission, max_size=3)


def account_with(**options: object) -> Account:
    values = {"access_key": "account", "secret_key": "very-secret", **options}
    return account(PlainAccessConfig(**values))  # type: ignore[arg-type] # tests know what they give


def lines(table: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={text}" for name, text in table.items())


@given(
    st.booleans(),
    st.one_of(st.none(), permission),
    tables,
    st.sampled_from([PUB, SUB]),
    st.lists(st.sampled_from(NAMES)),
)
def test_permissions_follow_the_rule_in_words(
    admin: bool, default: str | None, table: dict[str, str], wanted: int, topics: list[str]
) -> None:
    found = account_with(admin=admin, default_topic_perm=default, topic_perms=lines(table)).lacks(
        NeededPermissions(wanted, tuple(topics))
    )
    word = "PUB" if wanted == PUB else "SUB"
    lacking = {topic for topic in topics if word not in (table.get(topic, default) or "").split("|")}
    if admin and not table:
        lacking = set()
    assert (found is None) == (not lacking)
    assert found is None or found in lacking


@given(st.booleans(), st.one_of(st.none(), permission), tables, st.sampled_from(NAMES))
def test_permissions_of_groups(admin: bool, default: str | None, table: dict[str, str], group: str) -> None:
    one = account_with(admin=admin, default_group_perm=default, default_topic_perm="SUB", group_perms=lines(table))
    allowed = (admin and not table) or "SUB" in (table.get(group, default) or "").split("|")
    assert one.lacks(NeededPermissions(SUB, (f"%RETRY%{group}",))) == (None if allowed else f"%RETRY%{group}")


def test_an_administrator_with_permissions_has_only_these() -> None:
    admin = account_with(admin=True, topic_perms=("A=SUB",))
    assert admin.lacks(NeededPermissions(SUB, ("A",))) is None
    assert admin.lacks(NeededPermissions(PUB, ("A",))) == "A"
    assert account_with(admin=True).lacks(NeededPermissions(PUB, ("A",))) is None


def test_every_account_may_send_traces() -> None:
    denied = account_with(topic_perms=("RMQ_SYS_TRACE_TOPIC=DENY",))
    assert denied.lacks(sent_to("RMQ_SYS_TRACE_TOPIC")) is None
    assert denied.lacks(NeededPermissions(SUB, ("RMQ_SYS_TRACE_TOPIC",))) == "RMQ_SYS_TRACE_TOPIC"


def test_of_several_missing_permissions_the_first_of_a_java_map_is_named() -> None:
    assert account_with().lacks(NeededPermissions(SUB, ("TopicC", "%RETRY%GroupB", "TopicD"))) == "TopicD"


def test_only_an_administrator_may_send_administration_requests() -> None:
    assert sorted(ADMIN_CODES) == [
        *(17, 18, 21, 25, 26, 50, 51, 52, 53, 54, 60, 61, 100, 102, 200, 201, 205, 207, 215, 216, 217, 225, 305, 306),
        *(308, 314, 316, 317, 321, 323, 327, 328, 329, 343, 345, 351, 352, 401, 402),
    ]
    for code in range(400):
        assert account_with(admin=True).may_send_code(code)
        assert account_with().may_send_code(code) == (code not in ADMIN_CODES)


def test_where_an_administrator_needs_no_permissions() -> None:
    assert account_with(admin=True).may_all(11)
    limited = account_with(admin=True, topic_perms=("A=SUB",))
    for code in range(400):
        assert limited.may_all(code) == (code in CODES_UNPROTECTED_BY_APACHE)
        assert not account_with(topic_perms=("A=SUB",)).may_all(code)


@pytest.mark.parametrize(
    ("options", "wanted", "allowed"),
    [
        ({}, PUB, False),
        ({"default_topic_perm": "PUB|SUB"}, SUB, False),
        ({"default_group_perm": "SUB"}, PUB, True),
        ({"group_perms": ("G=SUB",)}, PUB, True),
        ({"group_perms": ("G=SUB",)}, SUB, True),
        ({"group_perms": ("G=PUB",)}, PUB, False),
        ({"group_perms": ("G=SUB",), "topic_perms": ("%DLQ%G=DENY",)}, SUB, False),
        ({"topic_perms": ("%DLQ%G=SUB",)}, SUB, True),
        ({"topic_perms": ("%DLQ%G=SUB",)}, PUB, False),
        ({"topic_perms": ("%RETRY%G=SUB",)}, SUB, True),
    ],
)
def test_dead_letters_belong_to_the_group_unless_the_topic_is_named(
    options: dict[str, object], wanted: int, *, allowed: bool
) -> None:
    assert account_with(**options).lacks(NeededPermissions(wanted, ("%DLQ%G",))) == (None if allowed else "%DLQ%G")


@pytest.mark.parametrize("permission", [PUB, SUB])
@pytest.mark.parametrize(
    "topic",
    ["SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "%LMQ%anything", "rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_new"],
)
def test_a_topic_of_the_brokers_own_needs_a_permission_by_name(topic: str, permission: int) -> None:
    assert account_with(default_topic_perm="PUB|SUB").lacks(NeededPermissions(permission, (topic,))) == topic
    assert account_with(topic_perms=(f"{topic}=PUB|SUB",)).lacks(NeededPermissions(permission, (topic,))) is None


@pytest.mark.parametrize("topic", ["rmq_sys_TRACE_DATA_elsewhere", "RMQ_SYS_TRACE_TOPIC"])
def test_traces_have_the_default_permission(topic: str) -> None:
    assert account_with(default_topic_perm="SUB").lacks(NeededPermissions(SUB, (topic,))) is None


@pytest.mark.parametrize(
    ("options", "key", "words"),
    [
        ({"access_key": None}, "accessKey", "The accessKey=null and secretKey=*** cannot be null and length should"),
        ({"access_key": "sixsix"}, "accessKey", "The accessKey=sixsix and secretKey=***"),
        ({"secret_key": None}, "secretKey", "The accessKey=account and secretKey=null"),
        ({"secret_key": "sixsix"}, "secretKey", "The accessKey=account and secretKey=*** cannot"),
        ({"topic_perms": ("A",)}, "topicPerms", "Parse resource permission failed for topic:A"),
        ({"group_perms": ("A=B=C",)}, "groupPerms", "Parse resource permission failed for group:A=B=C"),
    ],
)
def test_malformed_accounts_are_refused(options: dict[str, object], key: str, words: str) -> None:
    with pytest.raises(AccountInvalid) as caught:
        account_with(**options)
    assert caught.value.key == key
    assert str(caught.value).startswith(words)
    assert "very-secret" not in str(caught.value)


def test_a_malformed_address_is_refused() -> None:
    with pytest.raises(WhiteListInvalid):
        account_with(white_remote_address="here")
    assert account_with(white_remote_address=" ").matches is None


def test_an_account_does_not_show_its_secret_key() -> None:
    assert "secret" not in repr(account_with())
    assert "very-secret" not in repr(PlainAccessConfig(access_key="account", secret_key="very-secret"))


@pytest.mark.parametrize("texts", [None, (), ("A=PUB", " B = SUB|PUB ", "C=DENY")])
def test_valid_permissions_are_read(texts: tuple[str, ...] | None) -> None:
    check_permissions(texts)


NO_ASSIGNMENT = """\
Parse Resource format error for A.
The expected resource format is 'Res=Perm'. For example: topicA=SUB"""
NO_PERMISSION = """\
Parse resource permission error for A=PUBB.
The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."""


@pytest.mark.parametrize(("text", "words"), [("A", NO_ASSIGNMENT), ("A=PUBB", NO_PERMISSION)])
def test_malformed_permissions_are_refused(text: str, words: str) -> None:
    with pytest.raises(AccountInvalid) as caught:
        check_permissions(("B=PUB", text))
    assert str(caught.value) == words
