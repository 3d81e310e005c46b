"""The plugin, in separate runs of pytest: as users have it, and with xdist and pytest-trio."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PLUGIN = "rocketwire.testing.pytest_plugin"


def ran_in(folder: Path, *command: str, path: str = str(REPOSITORY)) -> subprocess.CompletedProcess[str]:
    """A program that ran in a folder, with `path` to import from."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )


def pytest_output(folder: Path, *options: str) -> str:
    """What pytest prints for the tests of a folder."""
    plugins = ("-p", PLUGIN, "-p", "no:randomly", "-p", "no:cacheprovider")
    ran = ran_in(folder, sys.executable, "-m", "pytest", *plugins, *options)
    return ran.stdout + ran.stderr


def run(folder: Path, source: str, *options: str, ini: str = "") -> str:
    """What pytest prints for a file of tests."""
    (folder / "test_it.py").write_text(source)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    return pytest_output(folder, *options)


BLOCKING = """
import threading
import pytest

seen = []

@pytest.mark.parametrize("number", range(2))
def test_each_has_an_endpoint_of_its_own(rocketmq, number):
    assert rocketmq.namesrv not in seen
    seen.append(rocketmq.namesrv)
    rocketmq.send("Orders", b"%d" % number)
    (message,) = rocketmq.messages("Orders")
    assert message.body == b"%d" % number

@pytest.mark.parametrize("number", range(2))
def test_all_share_that_of_the_session(rocketmq_session, number):
    topic = rocketmq_session.topic()
    rocketmq_session.send(topic, b"x" * 60)
    assert len(rocketmq_session.receive(topic)) == 1
    seen.append(rocketmq_session.pid)
    if number:
        assert seen[-1] == seen[-2]

@pytest.mark.rocketmq(settings={"brokerName": "mine"}, topics={"T": 1}, faults=["drop,topic=none"])
def test_arguments(rocketmq):
    assert rocketmq.send("T", "x").queue.broker == "mine"
    assert len(rocketmq.faults.list()) == 1
    with pytest.raises(Exception, match="limit 100B"):
        rocketmq.send("T", "x" * 200)
"""
INI = "rocketmq_settings =\n    maxMessageSize=100\n    autoCreateTopicEnable=true"


@pytest.mark.slow
def test_the_fixtures(tmp_path: Path) -> None:
    shown = run(tmp_path, BLOCKING, "--rocketmq-set", "brokerName=of-the-line", ini=INI)
    assert "5 passed" in shown, shown


@pytest.mark.slow
def test_workers_of_xdist_have_their_own(tmp_path: Path) -> None:
    source = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_it(rocketmq_session, number, worker_id):
    rocketmq_session.send("Shared", worker_id)
    assert {each.body.decode() for each in rocketmq_session.messages("Shared")} == {worker_id}
"""
    assert "4 passed" in run(tmp_path, source, "-n", "2")


@pytest.mark.slow
def test_a_failure_shows_the_log_of_the_endpoint(tmp_path: Path) -> None:
    shown = run(tmp_path, "def test_it(rocketmq):\n    rocketmq.topic('T')\n    assert False\n")
    assert "1 failed" in shown
    assert "Log of the endpoint (rocketmq)" in shown
    assert re.search(r"topic T: 4 queues", shown)


@pytest.mark.slow
def test_with_pytest_trio(tmp_path: Path) -> None:
    source = """
import pytest

@pytest.mark.trio
@pytest.mark.rocketmq(in_process=True, topics=["T"])
async def test_it(rocketmq_trio):
    await rocketmq_trio.send("T", "x")
    (message,) = await rocketmq_trio.receive("T")
    assert message.body == b"x"
"""
    assert "1 passed" in run(tmp_path, source)


def test_mistakes_are_reported(tmp_path: Path) -> None:
    source = """
import pytest

@pytest.mark.rocketmq("T")
def test_it(rocketmq):
    pass
"""
    assert "the marker rocketmq takes arguments by name only" in run(tmp_path, source)
    assert "'key': expected KEY=VALUE" in run(tmp_path, source, "--rocketmq-set", "key")


def test_a_run_without_endpoints_imports_next_to_nothing(tmp_path: Path) -> None:
    source = """
import sys

def test_it():
    ours = {name for name in sys.modules if name.startswith("rocketwire")}
    assert ours == {"rocketwire", "rocketwire.testing", "rocketwire.testing.pytest_plugin"}
    assert not {"trio", "h11", "construct"} & set(sys.modules)
"""
    assert "1 passed" in run(tmp_path, source, "-p", "no:anyio", "-p", "no:trio", "-p", "no:xdist")


@pytest.mark.parametrize("options", [(), ("-p", PLUGIN)])
def test_an_installation_registers_it_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    ((name, module),) = project["entry-points"]["pytest11"].items()
    info = tmp_path / "installed" / "rocketwire_as_installed-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rocketwire-as-installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    (tmp_path / "test_it.py").write_text(
        "def test_it(pytestconfig):\n"
        f"    assert pytestconfig.pluginmanager.get_plugin({name!r}).__name__ == {module!r}\n"
        "    assert pytestconfig.getini('rocketmq_settings') == []\n"
    )
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options)
    ran = ran_in(tmp_path, *command, path=f"{info.parent}:{REPOSITORY}")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_without_pytest_the_package_works() -> None:
    code = "import sys; sys.modules['pytest'] = None; import rocketwire.testing; rocketwire.testing.endpoint()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240, cwd=REPOSITORY)
