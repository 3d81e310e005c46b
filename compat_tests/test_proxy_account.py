"""A proxy that signs, or signs and encrypts, what it sends to Apache's broker: clients need no account."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from compat_tests import acl_cases
from compat_tests.cases import check
from compat_tests.commands import Rocketwire
from compat_tests.proxied import APACHE_4, APACHE_5, Proxied, ProxyProcess, users_of_5_5
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.clients.client import Clients
from rocketwire.compat.scenario import catalogue

_ACCOUNT = "admin-key-1"
_SIGNED = (
    *("--set", f"upstreamAccessKey={_ACCOUNT}"),
    *("--set", f"upstreamSecretKey={acl_cases.SECRETS[_ACCOUNT]}"),
)


def test_a_client_without_an_account_sends_consumes_and_queries(
    tmp_path: Path, clients: Clients, unique: Callable[[str], str]
) -> None:
    """A query by unique key is signed otherwise for brokers of 4.9.7 than their own clients sign it.

    There is none over TLS: Apache's broker then cuts off an answer with several messages (docs/tls.md).
    """
    conf = tmp_path / "broker-a" / "home" / "conf"
    conf.mkdir(parents=True)
    shutil.copy(acl_cases.ACCOUNTS, conf / "plain_acl.yml")
    guarded = Proxied(tmp_path, kind=APACHE_4, brokers=1, settings={"aclEnable": "true"}, options=_SIGNED)
    port = int(guarded.namesrv.rpartition(":")[2])
    encrypting = ProxyProcess(
        guarded.upstream, port=port, options=("--broker-ports", "0", *_SIGNED, "--set", "upstreamTls=true")
    )
    with running(guarded):
        query, push = catalogue()["query.by-key-and-ids"], catalogue()["push.concurrent"]
        check(query, "java-4.9.7", clients=clients, endpoint=guarded, prefix=unique("signed"))
        guarded.proxy.stop()
        guarded.proxy = encrypting
        guarded.proxy.start()
        check(push, "java-4.9.7", clients=clients, endpoint=guarded, prefix=unique("encrypted"))


def test_brokers_of_5_5_with_users_let_the_proxys_account_in(
    tmp_path: Path, clients: Clients, unique: Callable[[str], str]
) -> None:
    """5.5.0 has no plain_acl.yml any more, but other users (ACL 2.0), one of which must sign each request."""
    name, secret = "proxy-account", "proxy-secret"
    settings = users_of_5_5(tmp_path, name, secret)
    signed = ("--set", f"upstreamAccessKey={name}", "--set", f"upstreamSecretKey={secret}")
    guarded = Proxied(tmp_path, kind=APACHE_5, brokers=1, settings=settings, options=signed)
    port = int(guarded.namesrv.rpartition(":")[2])
    with running(guarded):
        for scenario in ("query.by-key-and-ids", "push.concurrent"):
            check(catalogue()[scenario], "java-4.9.7", clients=clients, endpoint=guarded, prefix=unique("signed"))
        guarded.proxy.stop()
        guarded.proxy = ProxyProcess(guarded.upstream, port=port, options=("--broker-ports", "0"))
        guarded.proxy.start()
        ran = Rocketwire(guarded.namesrv, APACHE_5)("topic", "create", unique("unsigned"))
    assert ran.code != 0
    assert "answered code 16: username cannot be null" in ran.err
