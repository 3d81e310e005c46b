from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.store.support import Command
from tests.store.support import Golden, draft, open_store, small

COMMANDS = (["info"], ["ls", "--all-topics"], ["cat", "--all-topics"], ["cat", "--topic", "GoldenFill"], ["verify"])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_the_commit_log_may_be_elsewhere(
    golden_497: Golden, tmp_path: Path, run: Command, arguments: list[str]
) -> None:
    root = golden_497.copy(tmp_path)
    expected = run(arguments[0], root, *arguments[1:])
    elsewhere = tmp_path / "log"
    shutil.move(root / "commitlog", elsewhere)
    ran = run(arguments[0], root, "--commitlog", f"{elsewhere}/", *arguments[1:])
    assert ran == expected
    ran = run(arguments[0], root, *arguments[1:])
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"rocketwire: {root}/consumequeue holds messages, but there is no commit log: "
        "--commitlog DIR names its folder, where storePathCommitLog put it elsewhere\n"
    )
    ran = run(arguments[0], root, "--commitlog", f"{tmp_path}/none", *arguments[1:])
    assert (ran.code, ran.err) == (2, f"rocketwire: {tmp_path}/none cannot be read: there is no such directory\n")


def test_the_broker_puts_its_commit_log_where_the_tools_find_it(tmp_path: Path, run: Command) -> None:
    store = open_store(small(tmp_path / "store", commit_log_path=tmp_path / "log"))
    store.append([draft(number) for number in range(50)])
    ran = run("cat", tmp_path / "store", "--commitlog", tmp_path / "log", "--json")
    assert (ran.code, len(ran.objects)) == (0, 50)
    store.close()


def test_a_store_that_never_had_a_message_needs_no_commit_log(tmp_path: Path, run: Command) -> None:
    queue = tmp_path / "consumequeue" / "T" / "0"
    queue.mkdir(parents=True)
    (queue / f"{0:020d}").write_bytes(bytes(320))
    assert run("cat", tmp_path).code == 0


def test_repair_takes_a_linked_commit_log(golden_497: Golden, tmp_path: Path, run: Command) -> None:
    root = golden_497.copy(tmp_path)
    shutil.move(root / "commitlog", tmp_path / "log")
    ran = run("repair", root, "--to", tmp_path / "new")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"rocketwire: {root}/consumequeue holds messages, but there is no commit log: "
        f"link its folder to {root}/commitlog, where storePathCommitLog put it elsewhere\n"
    )
    assert not (tmp_path / "new").exists()
    (root / "commitlog").symlink_to(tmp_path / "log")
    ran = run("repair", root, "--to", tmp_path / "new")
    assert (ran.code, ran.out) == (0, f"931 records are in {tmp_path}/new, each at the place it had\n")
