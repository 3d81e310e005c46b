"""Invalid offsets (below zero, behind the end, not numbers): the same frames to Apache's brokers and rocketwire.

Theory: only answers are compared, also to offsets in a file that another broker wrote. So the three get the same
requests, are stopped, get the same offsets in their files, and get the same requests again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from compat_tests.endpoints import Rocketwire
from compat_tests.remoting import Answer, Connection, max_offset, pull, send
from compat_tests.store_traffic import create_topic
from compat_tests.waiting import wait_until
from rocketwire.compat.brokers.apache import ApacheBroker, ApacheNameServer
from rocketwire.compat.brokers.endpoint import running
from rocketwire.compat.brokers.ports import free_ports

PULL, QUERY_OFFSET, UPDATE_OFFSET, CREATE_GROUP = 11, 14, 15, 200
CONSUME_STATS, RESET_OFFSET, CONSUME_TIME_SPAN, LITE_PULL = 208, 222, 303, 361
QUERY_NOT_FOUND: Final = 22
TOPIC: Final = "Offsets"
END: Final = 3  # of its first queue; the second one is empty
_COMMIT: Final = 1 | 4  # the flags of a pull that commits, and has its subscription

BELOW_ZERO: Final = ("-1", "-2", str(-(2**63)))
OF_THE_QUEUE: Final = ("0", "+2", str(END))
BEHIND: Final = (str(END + 1), "100", str(2**63 - 1))
NO_NUMBERS: Final = ("", "x", "1.5", " 5", str(2**63), str(-(2**63) - 1))
ALL: Final = (*BELOW_ZERO, *OF_THE_QUEUE, *BEHIND, *NO_NUMBERS)
_OUTSIDE: Final = (-2, END + 2, 2**63 - 1)  # 5.5.0 takes the one behind the end, too
WAYS: Final = {"15": UPDATE_OFFSET, "11": PULL, "361": LITE_PULL}
PLANTED: Final = "planted"

Broker = ApacheBroker | Rocketwire


class Seen(NamedTuple):
    """A broker's handling of a group's offset in the first queue."""

    committed: bool  # whether it was accepted
    offset: int | None  # that a query returns; None: there is none
    in_stats: tuple[tuple[int, int], ...]  # for each queue: its end, and the group's offset
    at_oldest: bool  # whether the group is at the queue's oldest message
    pulled: tuple[int, str]  # by a consumer at the returned offset: the answer's code and next offset


class Scene(NamedTuple):
    """The brokers' answers, by broker."""

    committed: dict[str, dict[tuple[str, str], Seen]]
    unset: dict[str, dict[str, tuple[int, str | None]]]  # queried with setZeroIfNotFound=false
    reset: dict[str, dict[int, tuple[int, str]]]
    after_restart: dict[str, dict[str, Seen]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, name_server: ApacheNameServer) -> Scene:
    """All requests, to Apache's two brokers and to rocketwire."""
    scene = Scene({}, {}, {}, {})
    for name in ("4.9.7", "5.5.0", "rocketwire"):
        folder = tmp_path_factory.mktemp(name)
        broker: Broker
        if name == "rocketwire":
            broker = Rocketwire(folder)
        else:
            port = free_ports()[1]
            broker = ApacheBroker(folder, namesrv=name_server.address, port=port, version=name, registers=False)
        with running(broker):
            with Connection(broker.broker) as connection:
                _prepare(connection)
                _wait_until_dispatched(broker.broker)
                scene.committed[name] = {
                    (way, offset): _seen(connection, way, offset)
                    for way in WAYS
                    if (name, way) != ("4.9.7", "361")
                    for offset in ALL
                }
                scene.unset[name] = {offset: _handed_out(connection, f"15{offset}", "false") for offset in ALL}
                scene.reset[name] = {offset: _reset(connection, offset) for offset in _OUTSIDE}
            broker.stop()
            _plant(folder / "store" / "config" / "consumerOffset.json")
            broker.start()
            with Connection(broker.broker) as connection:
                groups = [*(f"15{offset}" for offset in ALL), *(f"{PLANTED}{offset}" for offset in BELOW_ZERO)]
                scene.after_restart[name] = {group: _look(connection, group, committed=True) for group in groups}
    return scene


def _prepare(connection: Connection) -> None:
    create_topic(connection, TOPIC, 2)
    for prefix in (*WAYS, PLANTED):
        for offset in ALL:
            group = {"groupName": _group(f"{prefix}{offset}"), "consumeEnable": True, "retryQueueNums": 1}
            assert connection.ask(CREATE_GROUP, {}, json.dumps(group).encode()).code == 0
    for _ in range(END):
        assert connection.ask(*send(TOPIC)).code == 0


def _wait_until_dispatched(broker: str) -> None:
    wait_until(lambda: max_offset(broker, TOPIC, 0) >= END)


def _group(name: str) -> str:
    """Names of groups have neither points nor spaces."""
    return "G" + re.sub("[^0-9a-z]", lambda sign: f"_{ord(sign[0])}", name)


def _seen(connection: Connection, way: str, offset: str) -> Seen:
    group = f"{way}{offset}"
    if WAYS[way] == UPDATE_OFFSET:
        fields: dict[str, str | int] = {
            "consumerGroup": _group(group),
            "topic": TOPIC,
            "queueId": 0,
            "commitOffset": offset,
        }
        answer = connection.ask(UPDATE_OFFSET, fields)
    else:
        answer = _pull(connection, WAYS[way], _group(group), 0, offset)
    return _look(connection, group, committed=answer.code == 0)


def _look(connection: Connection, name: str, *, committed: bool) -> Seen:
    group = _group(name)
    code, offset = _handed_out(connection, name)
    assert code in (0, QUERY_NOT_FOUND)
    stats = connection.ask(CONSUME_STATS, {"consumerGroup": group, "topic": TOPIC}).body.decode()
    numbers = re.findall(r'"brokerOffset":(-?\d+),"consumerOffset":(-?\d+)', stats)
    spans = json.loads(connection.ask(CONSUME_TIME_SPAN, {"group": group, "topic": TOPIC}).body)["consumeTimeSpanSet"]
    (first,) = (span for span in spans if span["messageQueue"]["queueId"] == 0)
    pulled = _pull(connection, PULL, group, int(offset or 0), None)
    return Seen(
        committed=committed,
        offset=None if offset is None else int(offset),
        in_stats=tuple(sorted((int(end), int(at)) for end, at in numbers)),
        at_oldest=first["consumeTimeStamp"] == first["minTimeStamp"],
        pulled=(pulled.code, pulled.fields["nextBeginOffset"]),
    )


def _handed_out(connection: Connection, name: str, zero: str = "true") -> tuple[int, str | None]:
    fields: dict[str, str | int] = {"consumerGroup": _group(name), "topic": TOPIC, "queueId": 0}
    answer = connection.ask(QUERY_OFFSET, {**fields, "setZeroIfNotFound": zero})
    return answer.code, answer.fields.get("offset")


def _pull(connection: Connection, code: int, group: str, offset: int, commit: str | None) -> Answer:
    commits: dict[str, str | int] = {} if commit is None else {"sysFlag": _COMMIT, "commitOffset": commit}
    return connection.ask(code, pull(TOPIC, group, queueOffset=offset, maxMsgNums=1, **commits).fields)


def _reset(connection: Connection, offset: int) -> tuple[int, str]:
    """To an offset that the queue has not, as tools of 5.x request it."""
    fields: dict[str, str | int] = {"topic": TOPIC, "group": _group("150"), "timestamp": -1, "isForce": "true"}
    answer = connection.ask(RESET_OFFSET, {**fields, "queueId": 0, "offset": offset})
    return answer.code, answer.remark


def _plant(file: Path) -> None:
    """Write offsets below zero among those that a stopped broker left."""
    rows = "".join(f'"{TOPIC}@{_group(PLANTED + offset)}":{{0:{offset}}},' for offset in BELOW_ZERO)
    text, count = re.subn(r'("offsetTable"\s*:\s*\{)', lambda found: found[1] + rows, file.read_text("utf-8"), count=1)
    assert count == 1
    file.write_text(text, "utf-8")


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_an_offset_is_taken_and_handed_out_as_apache_does(scene: Scene, version: str) -> None:
    ours = scene.committed["rocketwire"]
    assert {case: ours[case] for case in scene.committed[version]} == scene.committed[version]


def test_a_group_without_an_offset_may_request_none_as_with_5_5_0(scene: Scene) -> None:
    assert scene.unset["rocketwire"] == scene.unset["5.5.0"]
    assert all(scene.unset["rocketwire"][offset] == (QUERY_NOT_FOUND, None) for offset in BELOW_ZERO)


def test_a_reset_to_a_missing_offset_is_refused_as_by_5_5_0(scene: Scene) -> None:
    assert scene.reset["rocketwire"] == scene.reset["5.5.0"]


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_after_a_restart_offsets_are_as_with_apache(scene: Scene, version: str) -> None:
    assert scene.after_restart["rocketwire"] == scene.after_restart[version]
    for offset in BELOW_ZERO:
        assert scene.after_restart["rocketwire"][PLANTED + offset].offset == 0
