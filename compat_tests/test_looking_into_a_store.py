"""`rocketwire store` on the directory of an Apache broker: while it writes, after it was killed, after a clean stop.

Theory: `cat` must find every acknowledged message, whole and once, by every query; while the broker runs nothing may be
reported as damage, and nothing may change that the broker notices (its warnings are checked).
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.remoting import Connection
from compat_tests.shared_store import SharedStore
from compat_tests.store_traffic import COMPRESSED, Load, Sent, create_topic, send_all_kinds
from rocketwire.compat.brokers.apache import ApacheNameServer

QUEUES: Final = 3
ROUNDS: Final = 2


def run(command: str, store: Path, *options: str) -> list[dict[str, Any]]:
    """The objects that a command prints; it must have nothing to complain of."""
    program = [sys.executable, "-m", "rocketwire", "store", command, str(store), "--json", *options]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def assert_found(found: Iterable[dict[str, Any]], sent: Iterable[Sent]) -> None:
    """All that was sent is among what was found, as it was sent."""
    messages = {(one["topic"], one["queue_id"], one["queue_offset"]): one for one in found}
    for each in sent:
        one = messages[(*each.queue, each.queue_offset)]
        body = one["body"].encode() if one["body"] is not None else base64.b64decode(one["body_base64"])
        expected = zlib.decompress(each.body) if one["sys_flag"] & COMPRESSED else each.body
        assert (one["message_id"], body) == (each.unique_key, expected)


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_a_store_of_apache_can_be_looked_into_at_any_time(
    version: str, tmp_path: Path, name_server: ApacheNameServer
) -> None:
    """Live under load, killed, and at rest."""
    store = SharedStore(tmp_path, name_server)
    with store.apache(version) as broker:
        with Connection(store.broker) as connection:
            create_topic(connection, "Kinds", QUEUES)
            create_topic(connection, "Load", QUEUES)
            sent = send_all_kinds(connection, "Kinds", "first", queues=QUEUES, count=60)
        load = Load(store.broker, "Load", "load", queues=QUEUES, pause=0.01)
        load.wait_for(30)
        for number in range(ROUNDS):
            whole = run("cat", store.path, "--topic", "Kinds") if number % 2 else run("cat", store.path)
            assert_found(whole, sent)
            places = [one["physical_offset"] for one in whole]
            assert places == sorted(set(places))
        (info,) = run("info", store.path)
        assert (info["state"], info["version"]) == ("live", f"{version[0]}.x")
        assert {one["topic"] for one in run("ls", store.path)} >= {"Kinds", "Load"}
        broker.kill()
        sent += load.join()
    (info,) = run("info", store.path)
    assert info["state"] == "crashed"
    assert_found(run("cat", store.path), sent)
    assert_found(run("cat", store.path, "--topic", "Load"), [each for each in sent if each.queue[0] == "Load"])

    store.remove_unfinished()
    with store.apache(version):
        pass
    assert run("info", store.path)[0]["state"] == "at_rest"
    for each in sent[:: len(sent) // 4]:
        (found,) = run("cat", store.path, "--id", each.unique_key)
        assert run("cat", store.path, "--id", found["offset_message_id"]) == [found]
        assert_found([found], [each])
