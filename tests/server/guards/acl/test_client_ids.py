"""A client id belongs to the account that came first, as long as its client is here."""

from __future__ import annotations

import gc

from rocketwire.server.guards.acl.client_ids import EXPIRY_SECONDS, ClientIds
from tests.server.harness import FakePeer


def test_an_id_belongs_to_who_came_first() -> None:
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
    now = EXPIRY_SECONDS + 1  # it is silent
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


def test_an_id_that_is_used_no_more_is_free() -> None:
    ids = ClientIds(lambda: 0.0)
    first, second = FakePeer(), FakePeer()
    ids.heard("a", "one", first)
    ids.heard("b", "one", first)
    assert ids.may_use("a", "two", second)
