"""`record`, `show` and `replay`: one recording of a real server, in separate processes where signals are sent."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rocketwire.cli import main
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode
from tests.capture.support import Peer, recording
from tests.cli.endpoint import Command, real_endpoint
from tests.cli.store.support import Ran


class Recorded(NamedTuple):
    file: Path
    said: list[dict[str, object]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """`topic list` and `group check` through `record`, which Ctrl-C ends."""
    folder = tmp_path_factory.mktemp("recorded")
    file = folder / "session.rwr"
    with real_endpoint(folder / "store") as endpoint:
        program = [sys.executable, "-m", "rocketwire", "record", str(file), "--json", "--listen", "127.0.0.1:0"]
        program += ["--namesrv", str(endpoint.name_server)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            first = json.loads(process.stdout.readline())
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CONFIG_HOME", str(folder))
                for command in (["topic", "list"], ["group", "check"]):
                    main([*command, "--namesrv", first["listening"]])
            process.send_signal(signal.SIGINT)
            said = [first, *map(json.loads, process.stdout.read().splitlines())]
            assert process.stderr.read() == b""
        assert process.returncode == 0
    return Recorded(file, said)


class Run:
    """A command in this process."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *arguments: object) -> Ran:
        code = main([*map(str, arguments)])
        out, err = self._captured.readouterr()
        return Ran(code, out, err)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture
def replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    with real_endpoint(tmp_path / "fresh") as endpoint:
        yield Command(capsys, str(endpoint.name_server))


def test_record_prints_where_it_listens_and_what_it_has(recorded: Recorded) -> None:
    started, ended = recorded.said
    assert started["file"] == ended["file"] == str(recorded.file)
    assert isinstance(ended["frames"], int)
    assert ended["frames"] > 2
    assert ended["file_bytes"] == recorded.file.stat().st_size


def test_show_prints_a_line_an_event(recorded: Recorded, run: Run) -> None:
    ran = run("show", recorded.file)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].split()[:4] == ["TIME", "(UTC)", "CONN", "DIR"]
    requested, answered = [line for line in lines if "GET_ALL_TOPIC_LIST_FROM_NAMESERVER" in line][:2]
    assert " -> " in requested
    assert " <- " in answered
    assert "SUCCESS" in answered
    assert answered.endswith(" ms")
    assert lines[-1].endswith("recording stopped")


def test_show_prints_a_tree(recorded: Recorded, run: Run) -> None:
    ran = run("show", recorded.file, "--tree", "--connection", "1", "--code", "get_all_topic_list_from_nameserver")
    assert ran.code == 0
    assert "\n  header:\n    form: JSON\n" in ran.out
    assert "\n    code: 0 SUCCESS\n" in ran.out
    assert ": TBW102\n" in ran.out


def test_show_prints_json_of_some(recorded: Recorded, run: Run) -> None:
    ran = run("show", recorded.file, "--json", "--code", "206", "--limit", "1")
    (only,) = ran.objects
    assert (only["name"], only["connection"], only["source"]) == ("GET_ALL_TOPIC_LIST_FROM_NAMESERVER", 1, "client")
    everything = run("show", recorded.file, "--json").objects
    assert [each["event"] for each in everything[:2]] == ["started", "opened"]
    assert all("end" not in each["event"] for each in run("show", recorded.file, "--json", "--code", "206").objects)


def test_a_file_that_is_cut_off_is_shown_as_far_as_it_is_whole(recorded: Recorded, tmp_path: Path, run: Run) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(recorded.file.read_bytes()[:-10])
    ran = run("show", cut)
    assert ran.code == 1
    assert "recording of" in ran.out
    assert "the file is cut off or damaged from byte" in ran.err


def test_show_needs_a_recording(tmp_path: Path, run: Run) -> None:
    other = tmp_path / "other"
    other.write_text("something else")
    assert run("show", other) == (2, "", "rocketwire: no recording: it begins with b'somethin'\n")
    assert run("show", tmp_path / "none").code == 2
    assert run("show", other, "--code", "SEND_MESAGE").err.startswith("rocketwire: --code SEND_MESAGE: no such")
    assert run("show", other, "--tree", "--json").code == 2


def test_replay_finds_no_difference_at_a_fresh_server(recorded: Recorded, replay: Command) -> None:
    ran = replay("replay", recorded.file, "--at-once")
    assert (ran.code, ran.err) == (0, "")
    assert "0 different" in ran.out
    assert "\n" not in ran.out.rstrip()


def test_replay_prints_differences(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_endpoint(tmp_path / "fresh", broker_cluster_name="Other") as endpoint:
        replay = Command(capsys, str(endpoint.name_server))
        table = replay("replay", recorded.file, "--speed", "100")
        lines = replay("replay", recorded.file, "--at-once", "--json").objects
    assert table.code == 1
    assert table.out.splitlines()[0].split() == ["FRAME", "CONN", "REQUEST", "FIELD", "RECORDED", "NOW"]
    assert "GET_ALL_TOPIC_LIST_FROM_NAMESERVER" in table.out
    differences, summary = lines[:-1], lines[-1]
    assert ("C", "Other") in [(each["recorded"], each["replayed"]) for each in differences]
    assert summary["event"] == "summary"
    assert summary["different"] == len({each["frame"] for each in differences})


def test_replay_needs_an_endpoint_and_one_pace(recorded: Recorded, run: Run) -> None:
    assert run("replay", recorded.file, "--namesrv", "127.0.0.1:1").code == 3
    assert run("replay", recorded.file, "--speed", "2", "--at-once").code == 2
    assert run("replay", recorded.file, "--speed", "0").code == 2


def test_record_refuses_what_it_cannot_do(recorded: Recorded, replay: Command, run: Run, tmp_path: Path) -> None:
    assert "it exists already" in replay("record", recorded.file).err
    assert replay("record", tmp_path / "new", "--listen", "nowhere").code == 2
    assert run("record", tmp_path / "new", "--namesrv", "127.0.0.1:1").code == 3
    taken = replay("record", tmp_path / "taken", "--listen", replay.name_server)
    assert taken.code == 2
    assert "cannot listen on" in taken.err
    assert not (tmp_path / "taken").exists()


def test_accounts_are_not_in_the_file_and_a_replay_has_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accounts = tmp_path / "plain_acl.yml"
    accounts.write_text("accounts:\n- {accessKey: the-account, secretKey: the-secret, admin: true}\n")
    file = tmp_path / "session.rwr"
    own = ("--access-key", "the-account", "--secret-key", "the-secret")
    with real_endpoint(tmp_path / "store", acl_enable=True, acl_file=str(accounts)) as endpoint:
        with recording(file, str(endpoint.name_server)) as running:
            through = Command(capsys, str(running.address))
            assert through("timer", "ls", *own).code == 0
            assert through("timer", "ls").code == 2
        data = file.read_bytes()
        assert b"the-account" not in data
        assert b"the-secret" not in data
        assert b"***" in data
        replay = Command(capsys, str(endpoint.name_server))
        refused = [
            each for each in replay("replay", file, "--at-once", "--json").objects if each.get("field") == "code"
        ]
        assert refused[0]["recorded"] == "SUCCESS"
        signed = replay("replay", file, "--at-once", "--json", *own).objects
    assert ("SYSTEM_ERROR", "SUCCESS") in [(each.get("recorded"), each.get("replayed")) for each in signed]
    assert "SUCCESS" not in [each.get("recorded") for each in signed if each.get("field") == "code"]


def test_record_ends_at_a_signal(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "session.rwr"
    listened = free_address()

    def use() -> None:
        client = None
        while client is None:
            with contextlib.suppress(ConnectionRefusedError):
                client = Peer.to(listened)
        client.ask(RequestCode.GET_BROKER_CLUSTER_INFO)
        os.kill(os.getpid(), signal.SIGINT)
        client.sock.recv(1)
        client.close()

    handler = signal.getsignal(signal.SIGINT)
    with real_endpoint(tmp_path / "store") as endpoint:
        thread = threading.Thread(target=use)
        thread.start()
        ran = run("record", file, "--namesrv", endpoint.name_server, "--listen", listened, "--no-bodies")
        thread.join(60)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"recording {endpoint.name_server} to {file}: clients use the name server {listened}\n")
    assert "recorded 2 frames of 1 connection, " in ran.out
    assert signal.getsignal(signal.SIGINT) is handler
    answer = run("show", file, "--json", "--code", "106").objects[-1]
    assert (answer["missing"], answer["body"]) == (["body left out"], None)


def free_address() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return Address(host="127.0.0.1", port=sock.getsockname()[1])
