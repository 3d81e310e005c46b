"""A client id belongs to the account that used it first, until that client's connections are closed."""

from __future__ import annotations

import gc

import pytest

from rocketwire.server.acl.client_ids import EXPIRY_SECONDS, ClientIds
from tests.server.harness import FakePeer


def test_an_id_belongs_to_the_account_that_used_it_first() -> None:
    now = 0.0
    ids = ClientIds(lambda: now)
    first, second = FakePeer(), FakePeer()
    assert ids.may_use("a", "one", first)
    ids.heard("a", "one", first)
    assert ids.account(first) == "one"
    assert not ids.may_use("a", "two", second)
    assert ids.may_use("a", "one", second)  # it reconnects, and its former connection is half open
    assert ids.may_use("a", "two", first)  # both accounts share the connection
    assert ids.may_use("b", "two", second)
    now = EXPIRY_SECONDS + 1  # no heartbeat came
    assert ids.may_use("a", "two", second)


def test_a_closed_connection_frees_its_id() -> None:
    ids = ClientIds(lambda: 0.0)
    first, second = FakePeer(), FakePeer()
    ids.heard("a", "one", first)
    first.closed = True
    assert ids.may_use("a", "two", second)
    ids.heard("a", "two", second)
    assert not ids.may_use("a", "one", first)
    del second
    gc.collect()
    assert ids.may_use("a", "one", first)


def test_an_id_is_free_when_its_last_connection_is_closed() -> None:
    ids = ClientIds(lambda: 0.0)
    first, second, stranger = FakePeer(), FakePeer(), FakePeer()
    ids.heard("a", "one", first)
    ids.heard("a", "one", second)
    second.closed = True
    assert not ids.may_use("a", "two", stranger)
    assert ids.may_use("a", "one", FakePeer())
    first.closed = True
    assert ids.may_use("a", "two", stranger)


def test_a_connection_may_have_several_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketwire.server.acl.client_ids._MOST_OF_CONNECTION", 2)
    ids = ClientIds(lambda: 0.0)
    first, second = FakePeer(), FakePeer()
    ids.heard("a", "one", first)
    ids.heard("b", "other", first)
    assert not ids.may_use("a", "two", second)
    assert not ids.may_use("b", "two", second)
    assert ids.account(first) == "other"
    ids.heard("c", "one", first)  # one too many
    assert ids.may_use("a", "two", second)
    assert not ids.may_use("b", "two", second)


def test_accounts_that_share_a_connection_share_its_id_elsewhere() -> None:
    ids = ClientIds(lambda: 0.0)
    first, second = FakePeer(), FakePeer()
    for account in ("one", "two", "one"):
        assert ids.may_use("a", account, first)
        ids.heard("a", account, first)
    assert ids.may_use("a", "two", second)
    assert not ids.may_use("a", "three", second)
