from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from tests.cli.store.support import Command
from tests.store.offline.timers import NOW, made
from tests.store.support import Golden, draft, kill, open_store, small


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_a_store_of_apache_is_described(golden_550: Golden, run: Command) -> None:
    ran = run("info", golden_550.untouched)
    assert (ran.code, ran.err) == (0, "")
    lines = {line[:16].strip(): line[16:] for line in ran.out.splitlines()}
    assert lines["state"] == "at rest: the last broker stopped cleanly"
    assert lines["version"].startswith("5.x: config/timercheck is there; ")
    assert lines["stored"] == "2026-11-21 09:05:34.697 to 2026-11-21 09:07:36.088 UTC"
    assert lines["messages"] == "919 in 39 queues of 24 topics"
    assert lines["offsets"] == "physical, 0 to 1,247,636: 1.2 MiB"
    assert lines["keys"] == "2,979 in the index"
    assert "timer           delivered up to 2026-11-21 09:07:46.000; 4 messages waiting\n" in ran.out
    assert lines["timer"].startswith("3 files of 36.9 MiB, ")
    assert "config/topics.json: 10.0 KiB, version 33 of 2026-11-21 09:07:20.773" in ran.out


def test_the_same_for_programs(golden_497: Golden, run: Command) -> None:
    (found,) = run("info", golden_497.untouched, "--json").objects
    assert found["state"] == "at_rest"
    assert found["version"] == "4.x"
    assert found["commit_log"] == {
        "start": 0,
        "end": 1168312,
        "first_store_time": 1795251788681,
        "last_store_time": 1795251814649,
    }
    assert found["user_topics"] == {"topics": 21, "queues": 34, "messages": 901}
    assert found["files"]["commit log"]["bytes"] == 1572864
    assert [file["keys"] for file in found["index"]] == [499, 499, 499, 334]
    assert found["checkpoint"]["index"] == 1795251799069
    assert found["problems"] == []


def test_a_store_in_use_is_live(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path))
    store.append([draft()])
    ran = run("info", tmp_path)
    assert ran.code == 0
    assert "live: a broker has it open" in ran.out
    assert "1 in 1 queue of 1 topic" in ran.out
    store.close()


def test_an_empty_store_is_described(tmp_path: Path, run: Command) -> None:
    open_store(small(tmp_path)).close()
    ran = run("info", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "0 in 0 queues of 0 topics" in ran.out
    assert "up to not known (commit log), not known (consume queues), not known (index)" in ran.out


def test_what_cannot_be_read_is_reported_and_the_rest_is_shown(
    golden_497: Golden, tmp_path: Path, run: Command
) -> None:
    root = golden_497.copy(tmp_path)
    (root / "index" / ("9" * 17)).mkdir()
    ran = run("info", root)
    assert ran.code == 1
    assert ran.err == f"rocketwire: {root}/index/{'9' * 17}: it is not a regular file\n"
    assert "901 in 34 queues of 21 topics" in ran.out
    (found,) = run("info", root, "--json").objects
    assert found["problems"] == [f"{root}/index/{'9' * 17}: it is not a regular file"]


def test_a_bad_file_is_reported_once(golden_497: Golden, tmp_path: Path, run: Command) -> None:
    root = golden_497.copy(tmp_path)
    (root / "config" / "topics.json").write_text("{")
    (root / "config" / "topics.json.bak").unlink(missing_ok=True)
    ran = run("info", root)
    assert (ran.code, ran.err.count("topics.json"), ran.err.count("\n")) == (1, 1, 1)


def test_a_queue_that_leads_nowhere_does_not_define_the_end_of_the_log(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(number) for number in range(10)])
    end = store.max_physical_offset
    store.close()
    path = tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}"
    with path.open("r+b") as file:
        file.seek(9 * 20)
        file.write(ENTRY_STRUCT.pack(1 << 60, 133, 0))
    ran = run("info", tmp_path)
    assert f"offsets         physical, 0 to {end:,}: " in ran.out
    assert "stored          2023-11-14 22:13:20.000 to 2023-11-14 22:13:20.000 UTC\n" in ran.out


def test_a_log_without_a_time_at_its_end_shows_none(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(number) for number in range(80)])
    kill(store)
    path = max((tmp_path / "commitlog").iterdir())
    path.write_bytes(b"?" * 4096)
    ran = run("info", tmp_path)
    assert "stored          from 2023-11-14 22:13:20.000 UTC\n" in ran.out
    assert f"offsets         physical, 0 to {int(path.name):,}: " in ran.out


def test_messages_that_wait_for_their_time_are_counted(tmp_path: Path, run: Command) -> None:
    with made(tmp_path) as timers:
        timers.add(NOW + 5000)
        timers.save()
        timers.add(NOW + 5000, unit=False)
        timers.add(NOW + 5001, cancels="U0000000", unit=False)
        ran = run("info", tmp_path)
        (found,) = run("info", tmp_path, "--json").objects
    assert (ran.code, ran.err) == (0, "")
    assert "2023-11-14 22:13:20.000; 2 messages waiting; 2 of its topic not in the wheel yet\n" in ran.out
    assert (found["timer_last_read_time"], found["timer_waiting"], found["timer_behind"]) == (NOW, 2, 2)
