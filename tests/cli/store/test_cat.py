"""Of `cat` and `message`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from rocketwire.cli.times import shown
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.hosts import encode_host
from tests.cli.store.support import Command, start
from tests.store.support import START, Clock, Golden, draft, kill, open_store, row_of, small


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def body_of(found: dict[str, Any]) -> bytes:
    if found["body"] is None:
        return base64.b64decode(found["body_base64"])
    assert "body_base64" not in found
    return bytes(found["body"].encode())


def expected_of(line: dict[str, Any]) -> dict[str, Any]:
    return row_of(line) | {"broker": None}


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_every_field_of_every_message_of_apache(version: str, run: Command, request: pytest.FixtureRequest) -> None:
    golden: Golden = request.getfixturevalue(version)
    lines = [line for line in golden.lines("expected.jsonl") if line["type"] == "message"]
    ran = run("cat", golden.untouched, "--all-topics", "--json")
    assert (ran.code, ran.err) == (0, "")
    for found, line in zip(ran.objects, lines, strict=True):
        body = body_of(found)
        assert (len(body), hashlib.sha256(body).hexdigest()) == (line["bodyLength"], line["bodySha256"])
        assert {name: value for name, value in found.items() if not name.startswith("body") or name == "body_crc"} == (
            expected_of(line)
        )


@pytest.mark.parametrize("version", ["golden_497", "golden_550"])
def test_keys_lead_to_the_messages_that_apache_finds(
    version: str, run: Command, request: pytest.FixtureRequest
) -> None:
    golden: Golden = request.getfixturevalue(version)
    queries = [line for line in golden.lines("expected-index.jsonl") if line["type"] == "query"]
    for line in queries[::101]:
        ran = run("cat", golden.untouched, "--topic", line["topic"], "--key", line["key"], "--json")
        assert [found["physical_offset"] for found in ran.objects] == sorted(set(line["phyOffsetsNewestFirst"]))


def test_conditions_are_all_kept(golden_497: Golden, run: Command) -> None:
    every = run("cat", golden_497.untouched, "--json").objects
    assert {found["topic"] for found in every}.isdisjoint({"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC"})
    assert any(found["topic"] == "%RETRY%golden_cg_retry" for found in every)

    def picked(*arguments: object) -> list[dict[str, Any]]:
        ran = run("cat", golden_497.untouched, "--json", *arguments)
        assert (ran.code, ran.err) == (0, "")
        return ran.objects

    assert picked("--limit", 3) == every[:3]
    assert picked("--limit", 0) == []
    fill = [found for found in every if found["topic"] == "GoldenFill"]
    assert picked("--topic", "GoldenFill") == fill
    assert picked("--topic", "GoldenFill", "--offset", "5") == fill[5:6]
    assert picked("--topic", "GoldenFill", "--offset", "690:") == fill[690:]
    assert picked("--topic", "GoldenFill", "--offset", ":7") == fill[:7]
    assert picked("--topic", "GoldenFill", "--offset", "7:9") == fill[7:9]
    both = picked("--topic", "GoldenFill", "--topic", "GoldenNormal", "--queue", "0", "--queue", "2")
    assert both == [
        found for found in every if found["topic"] in ("GoldenFill", "GoldenNormal") and found["queue_id"] in (0, 2)
    ]
    assert picked("--topic", "RMQ_SYS_TRANS_OP_HALF_TOPIC")[0]["tags"] == "d"
    assert picked("--tag", "TagTx", "--tag", "F3") == [found for found in every if found["tags"] in ("TagTx", "F3")]
    assert picked("--id", fill[9]["message_id"]) == picked("--id", fill[9]["offset_message_id"]) == [fill[9]]
    since, until = fill[100]["store_timestamp"], fill[300]["store_timestamp"]
    ranged = [found for found in every if since <= found["store_timestamp"] < until]
    assert picked("--since", since, "--until", until) == ranged
    iso = [shown(time).replace(" ", "T") for time in (since, until)]
    assert picked("--since", iso[0], "--until", f"{iso[1]}+00:00") == ranged


def test_a_table_shows_the_start_of_each_message(golden_497: Golden, run: Command) -> None:
    ran = run("cat", golden_497.untouched, "--topic", "GoldenNormal", "--limit", 2)
    assert ran.out.splitlines() == [
        "STORED (UTC)             TOPIC         QUEUE  OFFSET  TAG   KEYS    BODY",
        "2026-11-21 09:03:09.012  GoldenNormal      3       0  TagA  order0  hello sync 0",
        "2026-11-21 09:03:09.036  GoldenNormal      0       0  TagB  order1  hello sync 1",
    ]


def special(root: Path) -> None:
    """Messages with bodies of every kind."""
    store = open_store(small(root, commit_log_file_size=1 << 16), Clock())
    store.append(
        [
            draft(0, body=b"plain"),
            draft(1, body=b"\xff\x00"),
            draft(2, body=b"zwei\nZeilen \x1b[31m"),
            draft(3, body=zlib.compress(b"packed"), sys_flag=SysFlag.COMPRESSED),
            draft(4, body=b"not packed", sys_flag=SysFlag.COMPRESSED),
            draft(5, body=b"", born_host=encode_host("2001:db8::7", 99), properties=b""),
        ]
    )
    store.close()


def test_raw_bodies_are_what_the_producer_sent(tmp_path: Path) -> None:
    special(tmp_path)
    with start("cat", tmp_path, "--raw", "--id", "U0000001") as one:
        assert one.communicate()[0] == b"\xff\x00"
    with start("cat", tmp_path, "--raw") as several:
        out, err = several.communicate()
    assert out == b"plain\n\xff\x00\nzwei\nZeilen \x1b[31m\npacked\n"
    assert b"zlib body is damaged" in err
    assert several.returncode == 1


def test_a_body_that_is_no_text_or_cannot_be_inflated_is_base64(tmp_path: Path, run: Command) -> None:
    special(tmp_path)
    ran = run("cat", tmp_path, "--json")
    found = ran.objects
    assert [one["body"] for one in found] == ["plain", None, "zwei\nZeilen \x1b[31m", "packed", None, ""]
    assert [base64.b64decode(one["body_base64"]) for one in (found[1], found[4])] == [b"\xff\x00", b"not packed"]
    assert found[5]["born_host"] == "[2001:db8::7]:99"
    assert found[5]["message_id"] == found[5]["offset_message_id"]
    assert (found[5]["tags"], found[5]["keys"], found[5]["properties"]) == (None, [], {})
    assert ran.code == 1
    assert ran.err == (
        f"rocketwire: T, queue 0, offset 4: at physical offset {found[4]['physical_offset']}: "
        "zlib body is damaged: Error -3 while decompressing data: incorrect header check\n"
    )


def test_nothing_in_a_table_steers_the_terminal(tmp_path: Path, run: Command) -> None:
    special(tmp_path)
    ran = run("cat", tmp_path)
    assert "zwei\\nZeilen \\x1b[31m" in ran.out
    assert "0xff00" in ran.out
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 7


def test_a_damaged_message_is_reported_and_skipped(tmp_path: Path, run: Command) -> None:
    special(tmp_path)
    every = run("cat", tmp_path, "--json").objects
    path = tmp_path / "commitlog" / f"{0:020d}"
    with path.open("r+b") as file:
        file.seek(every[1]["physical_offset"] + 88)
        file.write(b"?")
    for arguments in ([], ["--topic", "T"], ["--key", "k1"]):
        ran = run("cat", tmp_path, "--json", *arguments)
        assert ran.code == 1
        assert f"rocketwire: {path}: at physical offset {every[1]['physical_offset']}: " in ran.err
    assert [one["queue_offset"] for one in run("cat", tmp_path, "--json").objects] == [0, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--limit", "x"], "--limit x: a whole number is needed, 0 or more"),
        (["--limit", "-1"], "--limit -1: a whole number is needed, 0 or more"),
        (["--queue", "1" * 19], "--queue 1111111111111111111: a whole number is needed, 0 or more"),
        (["--offset", "a:b"], "--offset a:b: expected A, A:, :B or A:B with whole numbers"),
        (["--offset", ":"], "--offset :: expected A, A:, :B or A:B with whole numbers"),
        (["--offset", ""], "--offset : expected A, A:, :B or A:B with whole numbers"),
        (
            ["--since", "yesterday"],
            "--since yesterday: expected ISO 8601 (2026-01-31T09:30:00+01:00), or ms since 1970",
        ),
        (["--since", "1795251788"], "--since 1795251788: expected"),
        (["--topic", "T", "--topic", ""], "--topic: a topic's name is not empty"),
        (["--until", "2026-13-01"], "--until 2026-13-01: expected"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], text: str, golden_497: Golden, run: Command) -> None:
    ran = run("cat", golden_497.untouched, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rocketwire: {text}")
    assert ran.err.count("\n") == 1


def test_what_is_no_store_is_one_line(tmp_path: Path, run: Command) -> None:
    for command in ("cat", "ls", "info"):
        ran = run(command, tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == (
            f"rocketwire: {tmp_path} cannot be used as a RocketMQ store: "
            "it holds neither commitlog, consumequeue nor checkpoint\n"
        )
        assert run(command, tmp_path / "none").err == (
            f"rocketwire: {tmp_path}/none cannot be read: there is no such directory\n"
        )


def test_a_topic_that_never_existed_is_an_error(golden_550: Golden, run: Command) -> None:
    ran = run("cat", golden_550.untouched, "--topic", "Nope")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == (
        f"rocketwire: --topic Nope: no such topic; rocketwire store list {golden_550.untouched} lists them"
    )
    # One that was deleted has left a message.
    ran = run("cat", golden_550.untouched, "--topic", "GoldenDel", "--json")
    assert (ran.code, [found["keys"] for found in ran.objects]) == (0, [["del"]])


def test_a_pipe_in_a_files_place_does_not_hang(golden_497: Golden, tmp_path: Path, run: Command) -> None:
    root = golden_497.copy(tmp_path)
    (root / "commitlog" / f"{524288:020d}").unlink()
    os.mkfifo(root / "commitlog" / f"{524288:020d}")
    (root / "index" / "20261121090308710").unlink()
    os.mkfifo(root / "index" / "20261121090308710")
    ran = run("cat", root, "--json")
    assert ran.code == 1
    assert "the 524288 bytes of the log before this file are missing" in ran.err
    ran = run("cat", root, "--topic", "GoldenKeys", "--key", "dup", "--json")
    assert (ran.code, len(ran.objects)) == (0, 1)


def test_a_file_that_may_not_be_read_is_one_line(
    golden_497: Golden, tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.open

    def refused(path: str, flags: int, *rest: Any, **named: Any) -> int:
        if str(path).endswith(f"{524288:020d}"):
            raise PermissionError(13, "Permission denied", path)
        return really(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refused)
    ran = run("cat", golden_497.untouched, "--json")
    assert ran.code == 2
    assert ran.err.endswith(f"commitlog/{524288:020d} cannot be read: Permission denied\n")


def test_a_reader_that_goes_away_ends_it_quietly(golden_497: Golden) -> None:
    with start("cat", golden_497.untouched, "--json") as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 141


@pytest.mark.parametrize("command", ["cat", "info", "ls", "verify"])
def test_a_closed_output_is_one_line(command: str, golden_497: Golden) -> None:
    program = [sys.executable, "-m", "rocketwire", "store", command, str(golden_497.untouched)]
    ran = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *program], stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"rocketwire: the output cannot be written: it is closed\n")


def test_a_full_disk_is_one_line(golden_497: Golden) -> None:
    program = [sys.executable, "-m", "rocketwire", "store", "cat", str(golden_497.untouched)]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"rocketwire: the output cannot be written: No space left on device\n")


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=1 << 20))
    store.append([draft(number, body=bytes([65]) * 900) for number in range(900)])
    store.close()
    # The parent of the tests may have set it to be ignored.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from rocketwire.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "store", "cat", str(tmp_path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        assert ran.stdout is not None
        ran.stdout.readline()  # the rest is more than a pipe takes
        ran.send_signal(signal.SIGINT)
        _, err = ran.communicate()
    assert (ran.returncode, err) == (130, b"")


def test_a_body_that_is_no_text_is_hexadecimal_in_a_table_and_a_lost_one_is_empty(tmp_path: Path, run: Command) -> None:
    special(tmp_path)
    lines = run("cat", tmp_path).out.splitlines()
    at = lines[0].index("BODY")
    assert [line[at:] for line in lines[1:]] == ["plain", "0xff00", "zwei\\nZeilen \\x1b[31m", "packed", "", ""]


@pytest.mark.slow
def test_a_store_is_read_while_another_process_writes_it(tmp_path: Path) -> None:
    """Files appear and are removed meanwhile; what is shown is whole, in order, and never shown twice."""
    program = """
import sys
from pathlib import Path
from tests.store.support import Clock, draft, open_store, small
clock = Clock()
store = open_store(small(Path(sys.argv[1]), commit_log_file_size=1 << 16), clock)
print("ready", flush=True)
for number in range(0, 60000, 20):
    store.append([draft(n, body=bytes([65 + n % 26]) * (n % 300)) for n in range(number, number + 20)])
    while number % 1000 == 0 and len(list(Path(sys.argv[1]).glob("commitlog/*"))) > 6:
        min(Path(sys.argv[1]).glob("commitlog/*")).unlink()
"""
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=root) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        counts: list[int] = []
        while writer.poll() is None and len(counts) < 3:
            with start("cat", tmp_path, "--json", *(["--topic", "T"] if len(counts) % 2 else [])) as reader:
                out, err = reader.communicate()
            assert (reader.returncode, b"damage" in err, b"Traceback" in err) == (0, False, False), err
            offsets = [json.loads(line)["queue_offset"] for line in out.splitlines()]
            assert offsets == sorted(set(offsets))
            counts.append(len(offsets))
        writer.kill()
    assert max(counts) > 0


@pytest.mark.slow
def test_memory_stays_bounded_on_a_large_sparse_store(tmp_path: Path) -> None:
    """Three commit log files of 1 GiB with little in them, and an index of Apache's size."""
    settings = small(
        tmp_path,
        commit_log_file_size=1 << 30,
        consume_queue_file_size=6_000_000,
        index_slots=5_000_000,
        index_entries=20_000_000,
    )
    store = open_store(settings)
    store.append([draft(number) for number in range(1000)])
    store.close()
    end = max((tmp_path / "commitlog").iterdir())
    for number in (1, 2):
        shutil.copyfile(os.devnull, tmp_path / "commitlog" / f"{number << 30:020d}")
        os.truncate(tmp_path / "commitlog" / f"{number << 30:020d}", 1 << 30)
    assert end.stat().st_size == 1 << 30
    program = (
        "import re, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30));"
        "from rocketwire.cli import main; code = main(sys.argv[1:]);"
        # ru_maxrss would be that of the process that started it, if that was larger.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr); sys.exit(code)"
    )
    for arguments in (["cat", "--json"], ["cat", "--topic", "T", "--json"], ["cat", "--key", "k7"], ["info"], ["ls"]):
        command = [sys.executable, "-c", program, "store", arguments[0], str(tmp_path), *arguments[1:]]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert int(ran.stderr.splitlines()[-1]) < 120 << 10


def test_nothing_in_the_store_changes(golden_550: Golden, tmp_path: Path, run: Command) -> None:
    root = golden_550.copy(tmp_path)

    def state() -> list[tuple[str, int, int, int]]:
        return [
            (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
            for path in sorted(root.rglob("*"))
            for status in [path.stat()]
        ]

    before = state()
    for arguments in (["info"], ["ls", "--groups"], ["ls"], ["cat", "--all-topics"], ["cat", "--key", "fill3"]):
        assert run(arguments[0], root, *arguments[1:]).code == 0
    assert state() == before


def test_a_crashed_store_is_read_from_its_log(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path))
    store.append([draft(number) for number in range(60)])
    kill(store)
    shutil.rmtree(tmp_path / "consumequeue")
    ran = run("cat", tmp_path, "--topic", "T", "--json")
    assert (ran.code, len(ran.objects)) == (0, 60)
    assert ran.objects[0]["store_timestamp"] == START


def test_damaged_topics_stand_in_nobodys_way(golden_497: Golden, tmp_path: Path, run: Command) -> None:
    root = golden_497.copy(tmp_path)
    whole = [run("cat", root, "--json", *some) for some in ([], ["--topic", "GoldenFill"], ["--key", "dup"])]
    (root / "config" / "topics.json").write_text("{")
    (root / "config" / "topics.json.bak").unlink(missing_ok=True)
    ran = run("cat", root, "--json")
    assert (ran.code, ran.out, ran.err) == (0, whole[0].out, "")
    for arguments, before in zip((["--topic", "GoldenFill"], ["--key", "dup"]), whole[1:], strict=True):
        ran = run("cat", root, "--json", *arguments)
        assert (ran.code, ran.out) == (1, before.out)
        assert len(ran.objects) > 0
        assert ran.err.startswith(f"rocketwire: {root}/config/topics.json: ")
        assert ran.err.endswith("; the topics are taken from consumequeue\n")
        assert ran.err.count("\n") == 1
    ran = run("cat", root, "--topic", "Nope")
    assert (ran.code, ran.err.count("topics.json"), "no such topic" in ran.err) == (1, 1, True)


def test_a_message_of_any_topic_is_shown_by_its_id(golden_497: Golden, run: Command) -> None:
    (found,) = run("cat", golden_497.untouched, "--id", "7F000001000079220000000000000FB8", "--json").objects
    assert found["topic"] in {"SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"}
    every = run("cat", golden_497.untouched, "--all-topics", "--json").objects
    half = next(one for one in every if one["topic"] == "RMQ_SYS_TRANS_HALF_TOPIC")
    ran = run("cat", golden_497.untouched, "--id", half["message_id"], "--json")
    assert ran.objects == [one for one in every if one["message_id"] == half["message_id"]]
