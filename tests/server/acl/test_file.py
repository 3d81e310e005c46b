"""The accounts' file: reading, refusals, and what changes write, byte for byte as Apache."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.server.acl.document import MOST_BYTES, AclFileEmpty, AclFileInvalid
from rocketwire.server.acl.file import read, with_account, with_addresses, without_account
from rocketwire.wire.bodies.acl import AclConfig, PlainAccessConfig
from rocketwire.wire.bodies.topic import DataVersion

HERE = Path(__file__).parent
ACCOUNTS = HERE / "accounts.yml"
ACCOUNT = "accounts:\n- accessKey: account\n  secretKey: very-secret\n"


def test_a_file_of_apaches_is_read() -> None:
    found = read(ACCOUNTS.read_bytes())
    assert list(found.accounts)[:3] == ["admin-key-1", "producer-key", "consumer-key"]
    assert "87654321" in found.accounts  # a number is read as its text
    assert found.accounts["87654321"].admin
    assert [matches("192.168.0.9") for matches in found.white] == [False, True]
    assert found.version is None
    assert found.warnings == (
        "accounts[9].defaultTopicPerm: ANY is no permission, it denies",
        "accounts[9].defaultGroupPerm: pub is no permission, it denies",
    )


@pytest.mark.parametrize("data", [b"accounts:\nglobalWhiteRemoteAddresses:\n", b"accounts: []"])
def test_a_file_without_accounts_is_read(data: bytes) -> None:
    found = read(data)
    assert (found.accounts, found.white, found.version, found.warnings) == ({}, (), None, ())
    assert found.config == AclConfig()


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"---\n", b"{}"])
def test_an_empty_file_differs_from_one_without_accounts(data: bytes) -> None:
    for use in (read, lambda data: with_addresses(data, (), 1)):
        with pytest.raises(AclFileEmpty, match="it is empty"):
            use(data)


def test_a_file_that_is_too_large_is_not_read() -> None:
    data = ACCOUNT.encode().ljust(MOST_BYTES, b"\n")
    assert read(data).accounts
    with pytest.raises(AclFileInvalid, match="it is larger than 2 MiB"):
        read(data + b"\n")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("acounts: []\n", "acounts: unknown key"),
        (ACCOUNT + "  topicPerm: [A=PUB]\n", "accounts[0].topicPerm: unknown key"),
        (ACCOUNT + "- accessKey: account\n  secretKey: another\n", "accounts[1].accessKey: account stands there twice"),
    ],
)
def test_entries_without_effect_are_reported(text: str, warning: str) -> None:
    (found,) = read(text.encode()).warnings
    assert found.startswith(warning)


def test_the_first_of_two_accounts_with_one_name_counts() -> None:
    data = (ACCOUNT + "  admin: true\n- accessKey: account\n  secretKey: another\n").encode()
    assert read(data).accounts["account"].admin
    assert [each.secret_key for each in read(data).config.plain_access_configs] == ["very-secret"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- one\n", "it is no map of keys"),
        ("one", "it is no map of keys"),
        ("accounts: 'x\n", "it is no YAML, line 2, column 1"),
        ("a: b: c\n", "it is no YAML, line 1, column 5"),
        ("accounts: !!python/object:os.system x\n", "it is no YAML, line 1, column 11"),
        ("? [a]\n: b\n", "it is no YAML, line 1, column 3"),
        ("\x01", "it is no YAML"),
        (ACCOUNT + "  admin: !!bool maybe\n", "it is no YAML"),
        (ACCOUNT + "  admin: !!int ''\n", "it is no YAML"),
        ("x: !!timestamp x\n", "it is no YAML"),
        ("a: &a [very-secret]\n" + ACCOUNT + "  admin: *a\n", "accounts[0].admin: expected true or false"),
        ("[" * 5000, "it is no YAML"),
        ("accounts: {}\n", "accounts: expected a list"),
        ("accounts: [x]\n", "accounts[0]: expected a map of keys"),
        ("accounts: [{}]\n", "accounts[0].accessKey: The accessKey=null and secretKey=null cannot be null"),
        ("globalWhiteRemoteAddresses: 1.2.3.4\n", "globalWhiteRemoteAddresses: expected a list"),
        ("globalWhiteRemoteAddresses: [[]]\n", "globalWhiteRemoteAddresses[0]: expected a text"),
        ("globalWhiteRemoteAddresses: ['', x]\n", "globalWhiteRemoteAddresses[1]: Netaddress examine"),
        (ACCOUNT + "  admin: maybe\n", "accounts[0].admin: expected true or false"),
        (ACCOUNT + "  topicPerms: A=PUB\n", "accounts[0].topicPerms: expected a list"),
        (ACCOUNT + "  groupPerms: [A]\n", "accounts[0].groupPerms: Parse resource permission failed for group:A"),
        (ACCOUNT + "  topicPerms: [A=PUB, {}]\n", "accounts[0].topicPerms[1]: expected a text"),
        (ACCOUNT + "  whiteRemoteAddress: here\n", "accounts[0].whiteRemoteAddress: Netaddress examine"),
        (ACCOUNT + "  defaultTopicPerm: []\n", "accounts[0].defaultTopicPerm: expected a text"),
        ("accounts:\n- accessKey: account\n  secretKey: short\n", "accounts[0].secretKey: The accessKey=account and"),
        ("accounts:\n- accessKey: true\n  secretKey: very-secret\n", "accounts[0].accessKey: The accessKey=true"),
    ],
)
def test_a_malformed_file_is_reported_in_one_line_with_the_key(text: str, line: str) -> None:
    with pytest.raises(AclFileInvalid) as caught:
        read(text.encode())
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(("text", "admin"), [("'1'", True), ("TRUE", True), ("no", False), ("''", False), ("~", False)])
def test_the_admin_key_makes_an_administrator(text: str, admin: bool) -> None:
    assert read(f"{ACCOUNT}  admin: {text}\n".encode()).accounts["account"].admin is admin


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_in_one_line(data: bytes) -> None:
    try:
        read(data)
    except AclFileInvalid as error:
        assert "\n" not in str(error)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.sampled_from(["PUB", "A=PUB", "*"])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(scalars, inner, max_size=3)),
    max_leaves=6,
)
keys = st.sampled_from(
    [
        *("accessKey", "secretKey", "whiteRemoteAddress", "admin", "defaultTopicPerm", "defaultGroupPerm"),
        "topicPerms",
        "x",
    ]
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "accounts": st.one_of(values, st.lists(st.dictionaries(keys, values, max_size=6), max_size=3)),
        "globalWhiteRemoteAddresses": values,
        "dataVersion": values,
        "other": values,
    },
)


@settings(deadline=None)  # the YAML reader is slow on a busy machine
@given(documents)
def test_any_document_is_read_or_refused_in_one_line(document: object) -> None:
    data = yaml.safe_dump(document, allow_unicode=True).encode()
    try:
        read(data)
    except AclFileInvalid as error:
        assert "\n" not in str(error)
        return
    changed = with_account(data, PlainAccessConfig(access_key="account", secret_key="very-secret"), 5)
    assert read(changed).accounts.keys() == {*read(data).accounts, "account"}
    assert read(without_account(changed, "account", 6)).accounts.keys() == read(data).accounts.keys() - {"account"}


def test_an_account_is_added_as_apache_writes_it() -> None:
    config = PlainAccessConfig(
        access_key="newAccount1",
        secret_key="secret-1234",
        white_remote_address="1.2.3.*",
        default_topic_perm="DENY",
        default_group_perm="SUB",
        topic_perms=("A=PUB", "B=SUB|PUB"),
        group_perms=("G=SUB",),
    )
    written = (HERE / "written.yml").read_bytes()
    moment = yaml.safe_load(written)["dataVersion"][0]["timestamp"]
    assert with_account(ACCOUNTS.read_bytes(), config, moment) == written
    assert read(written).version == DataVersion(counter=1, timestamp=moment)


def test_fields_that_a_change_omits_stay() -> None:
    data = (ACCOUNT + "  topicPerms: [A=PUB]\n  admin: true\n- accessKey: another\n  secretKey: something\n").encode()
    change = PlainAccessConfig(access_key="account", secret_key="new-secret", default_topic_perm="", group_perms=())
    found = yaml.safe_load(with_account(data, change, 7))
    assert found == {
        "accounts": [
            {"accessKey": "another", "secretKey": "something"},
            {
                "accessKey": "account",
                "secretKey": "new-secret",
                "topicPerms": ["A=PUB"],
                "admin": False,
                "groupPerms": [],
            },
        ],
        "dataVersion": [{"counter": 1, "timestamp": 7}],
    }


ODD_TEXTS = [
    *("12345678", "00012345", "0x1234abcd", "12:34:56", "12345678.50", "1_234_567", "2020-01-01 10:00:00", "+1234567"),
    *(
        "1.0000000",
        ".1234567",
        "0b1010101",
        "'1234567'",
        '"0x123456"',
        "!!str 1234567",
        "190:20:30.15",
        "685.230_15e+03",
    ),
]


def keys_of(data: bytes) -> dict[str | None, str | None]:
    found = {each.access_key: each.secret_key for each in read(data).config.plain_access_configs}
    assert {type(text) for pair in found.items() for text in pair} <= {str}  # request bodies hold no other texts
    return found


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_change_leaves_other_accounts_as_they_are_written(text: str) -> None:
    data = (
        f"accounts:\n- accessKey: {text}\n  secretKey: {text}\n- accessKey: another\n  secretKey: a-secret\n".encode()
    )
    name = text.removeprefix("!!str ").strip("'\"")
    assert keys_of(data) == {name: name, "another": "a-secret"}
    changed = with_account(data, PlainAccessConfig(access_key="another", secret_key="new-secret"), 1)
    assert keys_of(changed) == {name: name, "another": "new-secret"}
    if not text.startswith("!"):
        assert f"accessKey: {text.replace(chr(34), chr(39))}\n".encode() in changed
    assert keys_of(with_addresses(data, (), 1)) == keys_of(data)
    renewed = with_account(data, PlainAccessConfig(access_key=name, secret_key="new-secret"), 1)
    assert keys_of(renewed) == {name: "new-secret", "another": "a-secret"}
    assert keys_of(without_account(data, name, 1)) == {"another": "a-secret"}
    renamed = with_account(data, PlainAccessConfig(access_key="newcomer", secret_key=name), 1)
    assert keys_of(renamed) == {**keys_of(data), "newcomer": name}


def test_a_change_leaves_one_account_of_each_name() -> None:
    data = (ACCOUNT + "- accessKey: account\n  secretKey: another\n").encode()
    assert keys_of(with_account(data, PlainAccessConfig(access_key="account", secret_key="new-secret"), 1)) == {
        "account": "new-secret"
    }
    assert keys_of(without_account(data, "account", 1)) == {}


def test_an_account_is_deleted() -> None:
    with pytest.raises(AclFileInvalid, match="nobody is not there"):
        without_account(ACCOUNT.encode(), "nobody", 7)
    assert yaml.safe_load(without_account(ACCOUNT.encode(), "account", 7))["accounts"] == []


def test_addresses_are_replaced_where_they_stand() -> None:
    data = (
        "globalWhiteRemoteAddresses:\n- 1.1.1.1\n" + ACCOUNT + "dataVersion:\n- counter: 4\n  timestamp: 1\n"
    ).encode()
    changed = with_addresses(data, ("2.2.2.*", "::1"), 9)
    assert list(yaml.safe_load(changed)) == ["globalWhiteRemoteAddresses", "accounts", "dataVersion"]
    assert read(changed).config.global_white_addrs == ("2.2.2.*", "::1")
    assert read(changed).version == DataVersion(counter=5, timestamp=9)


@pytest.mark.parametrize("text", ["dataVersion: 5", "dataVersion: []", "dataVersion: [x]"])
def test_a_malformed_version_is_refused(text: str) -> None:
    assert read(text.encode()).version is None
    assert read(b"dataVersion: [{counter: x}]").version == DataVersion(counter=0, timestamp=0)
