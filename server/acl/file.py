"""The accounts' file, plain_acl.yml: parsed for the guard, and changed as Apache 4.9.7 writes it.

    globalWhiteRemoteAddresses:      addresses that need no account
    accounts:                        each with accessKey, secretKey, whiteRemoteAddress, admin, defaultTopicPerm,
        defaultGroupPerm, topicPerms, groupPerms
    dataVersion:                     counter and time of the last change by request

Of two accounts of a name the first counts; a change leaves one. Unknown keys have no effect and unknown permissions
deny; `AccountsFile.warnings` reports both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from rocketwire.server.acl.accounts import Account, AccountInvalid, account
from rocketwire.server.acl.document import AclFileInvalid, document_bytes, load
from rocketwire.server.acl.resources import is_permission
from rocketwire.server.acl.white_list import Matches, WhiteListInvalid, white_list
from rocketwire.server.config.keys import camel
from rocketwire.wire.bodies.acl import AclConfig, PlainAccessConfig
from rocketwire.wire.bodies.topic import DataVersion
from rocketwire.wire.java import INT64_MAX, parse_natural_number

ADDRESSES: Final = "globalWhiteRemoteAddresses"
ACCOUNTS: Final = "accounts"
VERSION: Final = "dataVersion"

_ATTRIBUTES: Final = {camel(each.name): each.name for each in fields(PlainAccessConfig)}
_LISTS: Final = ("topicPerms", "groupPerms")
_DEFAULTS: Final = ("defaultTopicPerm", "defaultGroupPerm")
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountsFile:
    """The content of a file.

    Attributes:
        accounts: By access key.
        white: Addresses that need no account.
        config: The same as administrators receive it, including secret keys.
        version: Its own, or None.
        warnings: A line for each entry without effect.
    """

    accounts: Mapping[str, Account]
    white: tuple[Matches, ...]
    config: AclConfig
    version: DataVersion | None
    warnings: tuple[str, ...]


NO_ACCOUNTS: Final = AccountsFile(accounts={}, white=(), config=AclConfig(), version=None, warnings=())
"""The content of an empty file."""


def read(data: bytes) -> AccountsFile:
    """Parse a file.

    Raises:
        AclFileEmpty: it is empty.
        AclFileInvalid: a key's value cannot be used.
    """
    document = load(data)
    warnings = [f"{key}: unknown key" for key in document if key not in (ADDRESSES, ACCOUNTS, VERSION)]
    white = []
    addresses = _texts(document.get(ADDRESSES), ADDRESSES)
    for number, text in enumerate(addresses):
        try:
            matches = white_list(text)
        except WhiteListInvalid as error:
            raise AclFileInvalid(f"{ADDRESSES}[{number}]: {error}") from None
        if matches is not None:
            white.append(matches)
    accounts: dict[str, Account] = {}
    configs: dict[str, PlainAccessConfig] = {}
    for name, entry in _entries(document):
        config = _config(name, entry, warnings)
        try:
            made = account(config)
        except AccountInvalid as error:
            raise AclFileInvalid(f"{name}.{error.key}: {error}") from None
        except WhiteListInvalid as error:
            raise AclFileInvalid(f"{name}.whiteRemoteAddress: {error}") from None
        if made.access_key in accounts:
            warnings.append(f"{name}.accessKey: {made.access_key} stands there twice, the first counts")
        accounts.setdefault(made.access_key, made)
        configs.setdefault(made.access_key, config)
    return AccountsFile(
        accounts=accounts,
        white=tuple(white),
        config=AclConfig(global_white_addrs=addresses, plain_access_configs=tuple(configs.values())),
        version=_version(document.get(VERSION)),
        warnings=tuple(warnings),
    )


def with_account(data: bytes, config: PlainAccessConfig, now: int) -> bytes:
    """The file with an account added or changed: it moves to the end, and values missing in `config` stay.

    Raises:
        AclFileInvalid: the file cannot be used.
    """
    document = load(data)
    entries = _list(document.get(ACCOUNTS), ACCOUNTS)
    former: dict[Any, Any] = next((each for each in entries if _has_name(each, config.access_key)), {})
    changes = {
        "accessKey": config.access_key,
        "secretKey": config.secret_key,
        "whiteRemoteAddress": config.white_remote_address,
        "admin": config.admin,
        "defaultTopicPerm": config.default_topic_perm or None,
        "defaultGroupPerm": config.default_group_perm or None,
        "topicPerms": None if config.topic_perms is None else list(config.topic_perms),
        "groupPerms": None if config.group_perms is None else list(config.group_perms),
    }
    entry = {**former, **{key: value for key, value in changes.items() if value is not None}}
    document[ACCOUNTS] = [*(each for each in entries if not _has_name(each, config.access_key)), entry]
    return _format_document(document, now)


def without_account(data: bytes, access_key: str, now: int) -> bytes:
    """The file without an account.

    Raises:
        AclFileInvalid: the file cannot be used, or has no such account.
    """
    document = load(data)
    entries = _list(document.get(ACCOUNTS), ACCOUNTS)
    document[ACCOUNTS] = kept = [each for each in entries if not _has_name(each, access_key)]
    if len(kept) == len(entries):
        raise AclFileInvalid(f"{ACCOUNTS}: {access_key} is not there")
    return _format_document(document, now)


def with_addresses(data: bytes, addresses: tuple[str, ...], now: int) -> bytes:
    """The file with other addresses that need no account.

    Raises:
        AclFileInvalid: the file cannot be used.
    """
    document = load(data)
    document[ADDRESSES] = list(addresses)
    return _format_document(document, now)


def _format_document(document: dict[Any, Any], now: int) -> bytes:
    former = _version(document.get(VERSION))
    document[VERSION] = [{"counter": 1 if former is None else former.counter + 1, "timestamp": now}]
    return document_bytes(document)


def _has_name(entry: object, access_key: str | None) -> bool:
    return isinstance(entry, dict) and entry.get("accessKey") == access_key


def _entries(document: dict[Any, Any]) -> Iterator[tuple[str, dict[Any, Any]]]:
    for number, entry in enumerate(_list(document.get(ACCOUNTS), ACCOUNTS)):
        name = f"{ACCOUNTS}[{number}]"
        if not isinstance(entry, dict):
            raise AclFileInvalid(f"{name}: expected a map of keys")
        yield name, entry


def _config(name: str, entry: dict[Any, Any], warnings: list[str]) -> PlainAccessConfig:
    values: dict[str, Any] = {}
    for key, value in entry.items():
        attribute = _ATTRIBUTES.get(key)
        where = f"{name}.{key}"
        if attribute is None:
            warnings.append(f"{where}: unknown key")
        elif key in _LISTS:
            values[attribute] = None if value is None else _texts(value, where)
        elif value is not None:
            values[attribute] = _boolean(value, where) if key == "admin" else _text(value, where)
        if key in _DEFAULTS and (text := values.get(_ATTRIBUTES[key])) is not None and not is_permission(text):
            warnings.append(f"{where}: {value} is no permission, it denies")
    return PlainAccessConfig(**values)


def _version(value: object) -> DataVersion | None:
    found = value[0] if isinstance(value, list) and value else None
    if not isinstance(found, dict):
        return None
    return DataVersion(
        counter=_number(found.get("counter"), INT64_MAX - 1), timestamp=_number(found.get("timestamp"), INT64_MAX)
    )


def _number(value: object, most: int) -> int:
    return (parse_natural_number(value, most) if isinstance(value, str) else None) or 0


def _texts(value: object, name: str) -> tuple[str, ...]:
    return tuple(_text(each, f"{name}[{number}]") for number, each in enumerate(_list(value, name)))


def _list(value: object, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise AclFileInvalid(f"{name}: expected a list")
    return value


def _text(value: object, name: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        raise AclFileInvalid(f"{name}: expected a text")
    return str(value)  # bodies take strings only


def _boolean(value: object, name: str) -> bool:
    found = value if isinstance(value, bool) else None
    if isinstance(value, str):  # a list may be large when formatted
        found = _BOOLEANS.get(value.strip().lower())
    if found is None:
        raise AclFileInvalid(f"{name}: expected true or false")
    return found
