"""`offset show`, `reset`, `skip` and `clone` against a real server, with members on line and without."""

from __future__ import annotations

import time

import pytest

from rocketwire.wire.bodies.client import MessageModel
from tests.cli.administered import SECONDS, Administered, member


@pytest.fixture
def consumed(endpoint: Administered) -> Administered:
    """The group orders has consumed some of the messages of the topic Orders."""
    endpoint.done("topic create Orders --queues 2")
    endpoint.done("group create orders")
    for queue in (0, 1):
        endpoint.send("Orders", queue, 5)
    endpoint.commit("orders", "Orders", {0: 2, 1: 4})
    return endpoint


def offsets(endpoint: Administered, group: str = "orders") -> list[int | None]:
    return [each["offset"] for each in endpoint.done(f"offset show {group} --topic Orders --json").objects]


def moved(endpoint: Administered, line: str) -> list[tuple[int | None, int | None]]:
    return [(each["before"], each["after"]) for each in endpoint.done(f"offset {line} --json").objects]


def test_committed_offsets(consumed: Administered) -> None:
    assert consumed.done("offset show orders --json").objects[1] == {
        "group": "orders",
        "topic": "Orders",
        "broker": "broker-a",
        "queue_id": 1,
        "offset": 4,
        "min_offset": 0,
        "max_offset": 5,
    }
    consumed.done("group create new")
    consumed.commit("new", "Orders", {1: 1})
    assert offsets(consumed, "new") == [None, 1]
    table = consumed.done("offset show new").out.splitlines()
    assert table[1].split() == ["Orders", "broker-a", "0", "-", "0", "5"]


@pytest.mark.parametrize(
    ("to", "after"), [("earliest", [0, 0]), ("latest", [5, 5]), ("3", [3, 3]), ("2020-01-01", [0, 0])]
)
def test_a_group_without_members_is_reset(consumed: Administered, to: str, after: list[int]) -> None:
    line = f"reset orders --topic Orders --to {to}"
    wanted = [(2, after[0]), (4, after[1])]
    assert moved(consumed, f"{line} --dry-run") == wanted
    assert offsets(consumed) == [2, 4]
    assert moved(consumed, line) == wanted
    assert offsets(consumed) == after


def test_one_queue_is_reset(consumed: Administered) -> None:
    ran = consumed.done("offset reset orders --topic Orders --to 1 --queue 1")
    assert ran.out.splitlines()[1].split() == ["Orders", "broker-a", "1", "4", "1", "-3"]
    assert offsets(consumed) == [2, 1]


def test_messages_are_skipped(consumed: Administered) -> None:
    assert moved(consumed, "skip orders --topic Orders --dry-run") == [(2, 5), (4, 5)]
    assert moved(consumed, "skip orders --topic Orders") == [(2, 5), (4, 5)]
    assert offsets(consumed) == [5, 5]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ("--to earliest", {0: 0, 1: 0}),
        ("--to latest", {0: 5, 1: 5}),
        ("--to 2020-01-01", {0: 0, 1: 0}),
        ("--to 3", {0: 3, 1: 3}),
        ("--to earliest --queue 1", {1: 0}),
    ],
)
def test_members_are_notified(consumed: Administered, options: str, reported: dict[int, int]) -> None:
    line = f"offset reset orders --topic Orders {options} --json".split()
    with member(consumed, "orders", "Orders") as joined:
        dry = consumed.run(*line, "--dry-run")
        assert (dry.code, dry.err) == (0, "")
        assert joined.reported == {}
        ran = consumed.run(*line)
        assert ran.code == 0
        assert ran.objects == dry.objects
        assert {each["queue_id"]: each["after"] for each in ran.objects} == reported
        assert ran.err == (
            "rocketwire: group orders: told 1 member to go on at the new offsets, within some 10 seconds\n"
        )
        end = time.monotonic() + SECONDS
        while joined.reported != reported and time.monotonic() < end:
            time.sleep(0.01)
        assert joined.reported == reported
    assert offsets(consumed) == [2, 4]  # the member commits them


def test_members_are_not_notified_of_queues_that_take_no_messages(consumed: Administered) -> None:
    consumed.done("topic alter Orders --write-queues 1")
    with member(consumed, "orders", "Orders"):
        ran = consumed.run("offset", "reset", "orders", "--topic", "Orders", "--to", "earliest", "--json")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "rocketwire: broker broker-a: not reset, as nobody writes there: queue 1"
    assert [each["queue_id"] for each in ran.objects] == [0]


def test_broadcasting_members_keep_their_offsets(consumed: Administered) -> None:
    with member(consumed, "orders", "Orders", model=MessageModel.BROADCASTING):
        error = consumed.refused("offset reset orders --topic Orders --to earliest")
    assert error == (
        "broker broker-a: the members of group orders consume by broadcasting, and keep their offsets themselves"
    )


def test_a_member_that_has_committed_nothing(consumed: Administered) -> None:
    consumed.done("group create new")
    with member(consumed, "new", "Orders"):
        error = consumed.refused("offset reset new --topic Orders --to earliest")
    assert error.endswith("; members may not have committed an offset of each queue yet")


def test_offsets_are_cloned(consumed: Administered) -> None:
    assert moved(consumed, "clone orders copy --dry-run") == [(None, 2), (None, 4)]
    assert consumed.refused("offset show copy") == "group copy: the brokers know no such group"
    assert moved(consumed, "clone orders copy --topic Orders") == [(None, 2), (None, 4)]
    assert offsets(consumed, "copy") == [2, 4]
    with member(consumed, "copy", "Orders"):
        ran = consumed.run("offset", "clone", "orders", "copy")
        assert ran.code == 0
        assert ran.err == ("rocketwire: broker broker-a: members of group copy are on line, and may overwrite this\n")


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("reset orders --topic Orders --to 6", 1, "broker broker-a: queue 0 has the offsets 0 to 5, not 6"),
        ("reset orders --topic Orders --to 1 --queue 2", 1, "topic Orders: it has no queue 2"),
        ("reset orders --topic Orders --to soon", 2, "--to soon: expected earliest, latest, an offset"),
        ("reset ordres --topic Orders --to 1", 1, "group ordres: the brokers know no such group; did you mean orders?"),
        ("skip orders --topic Oders", 1, "topic Oders: the name server"),
        ("show ordres", 1, "group ordres: the brokers know no such group; did you mean orders?"),
        ("clone ordres copy", 1, "group ordres: the brokers know no such group; did you mean orders?"),
        ("clone orders a/b", 2, "group a/b: "),
        ("clone new copy", 1, "group new: the brokers have no offsets of it"),
        ("show new", 1, "group new: the brokers have no offsets of it"),
    ],
)
def test_wrong_use(consumed: Administered, line: str, code: int, error: str) -> None:
    consumed.done("group create new")
    assert consumed.refused(f"offset {line}", code).startswith(error)
    assert offsets(consumed) == [2, 4]


def test_one_broker_of_two_fails(consumed: Administered) -> None:
    with consumed.second_broker("broker-b", "Orders"):
        for line in (
            "show orders",
            "reset orders --topic Orders --to 1 --dry-run",
            "reset orders --topic Orders --to 1",
            "skip orders --topic Orders",
            "clone orders copy",
        ):
            ran = consumed.run("offset", *line.split(), "--json")
            assert (ran.code, len(ran.err.splitlines())) == (1, 1), (line, ran)
            assert ran.err.startswith("rocketwire: broker broker-b: broker 127.0.0.1:")
            assert [each["broker"] for each in ran.objects] == ["broker-a"] * 2
    assert offsets(consumed) == [5, 5]
