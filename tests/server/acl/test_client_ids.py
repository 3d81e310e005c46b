"""A client id belongs to the account that used it first, until that client's connections are closed."""

from __future__ import annotations

import gc

import pytest

from rocketwire.server.acl.client_ids import EXPIRY_SECONDS, ClientIds
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.wire.names import MAX_CLIENT_ID_LENGTH
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
    now = 0.0
    ids = ClientIds(lambda: now)
    first, second = FakePeer(), FakePeer()
    ids.heard("a", "one", first)
    ids.heard("b", "other", first)
    assert ids.account(first) == "other"
    with pytest.raises(LimitExceeded, match="clientsPerConnection=2"):
        ids.heard("c", "one", first)
    assert not ids.may_use("a", "two", second)
    assert not ids.may_use("b", "two", second)
    now = EXPIRY_SECONDS + 1
    ids.heard("b", "other", first)
    ids.heard("c", "one", first)  # there is room: nothing came under "a" for long
    assert ids.may_use("a", "two", second)
    assert not ids.may_use("b", "two", second)
    assert not ids.may_use("c", "two", second)
    ids.heard("b", "other", first)  # it uses no more memory


def test_the_length_of_an_id_is_bounded() -> None:
    ids = ClientIds(lambda: 0.0)
    peer = FakePeer()
    ids.heard("a" * MAX_CLIENT_ID_LENGTH, "one", peer)
    with pytest.raises(LimitExceeded, match="clientIdLength=512"):
        ids.heard("a" * (MAX_CLIENT_ID_LENGTH + 1), "one", peer)


def test_accounts_that_share_a_connection_share_its_id_elsewhere() -> None:
    ids = ClientIds(lambda: 0.0)
    first, second = FakePeer(), FakePeer()
    for account in ("one", "two", "one"):
        assert ids.may_use("a", account, first)
        ids.heard("a", account, first)
    assert ids.may_use("a", "two", second)
    assert not ids.may_use("a", "three", second)
