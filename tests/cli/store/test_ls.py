from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.store.support import Command
from tests.store.support import Golden, draft, kill, open_store, small


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_every_queue_is_as_apache_has_it(version: str, run: Command, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    expected = {
        (line["topic"], line["queueId"]): (line["minOffset"], line["maxOffset"])
        for line in golden.lines("expected-cq.jsonl")
        if line["type"] == "queue" and line["maxOffset"]
    }
    ran = run("ls", golden.untouched, "--all-topics", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert {
        (found["topic"], found["queue_id"]): (found["min_offset"], found["max_offset"]) for found in ran.objects
    } == expected
    without = {found["topic"] for found in run("ls", golden.untouched, "--json").objects}
    assert {topic for topic, _ in expected} - without == {
        topic for topic, _ in expected if topic.startswith(("RMQ_SYS", "rmq_sys", "SCHEDULE", "TRANS_CHECK"))
    }


def test_a_table_has_a_line_a_queue(golden_497: Golden, run: Command) -> None:
    lines = run("ls", golden_497.untouched).out.splitlines()
    assert lines[0].split("  ")[0] == "TOPIC"
    (fill,) = (line.split() for line in lines if line.startswith("GoldenFill"))
    assert fill[1:5] == ["0", "0", "700", "700"]
    assert len(lines) == 35


def test_groups_are_listed_with_their_lag(golden_550: Golden, run: Command) -> None:
    found = run("ls", golden_550.untouched, "--groups", "--json").objects
    (timer,) = (one for one in found if (one["group"], one["topic"]) == ("golden_cg_normal", "GoldenTimer"))
    assert timer["lag"] == 1
    assert [queue["lag"] for queue in timer["queues"]] == [0, 1]
    assert {one["topic"] for one in found}.isdisjoint({"RMQ_SYS_TRANS_HALF_TOPIC"})
    lines = run("ls", golden_550.untouched, "--groups", "--all-topics").out.splitlines()
    assert lines[0].split() == ["GROUP", "TOPIC", "QUEUES", "LAG"]
    assert ["CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC", "1", "0"] in [line.split() for line in lines]


def test_of_a_crashed_store_it_is_reported_that_queues_may_lag(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path))
    store.append([draft()])
    kill(store)
    ran = run("ls", tmp_path)
    assert ran.code == 0
    assert ran.err == (
        f"rocketwire: {tmp_path} is crashed: the last broker did not stop cleanly; "
        "its queues may lack the newest messages\n"
    )
    assert len(ran.out.splitlines()) == 2


def test_a_name_that_is_no_text_is_no_topic(tmp_path: Path, run: Command) -> None:
    open_store(small(tmp_path)).close()
    queue = tmp_path / "consumequeue" / "caf\udce9" / "0"
    queue.mkdir(parents=True)
    (queue / f"{0:020d}").write_bytes(bytes(320))
    assert run("ls", tmp_path, "--json").objects == []
    verified = run("verify", tmp_path, "--no-progress")
    reported = "damage: consumequeue/caf\\udce9: it is not a topic's directory"
    assert (verified.code, verified.out.splitlines()[0]) == (1, reported)
