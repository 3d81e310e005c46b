"""The examples of docs/testing-applications.md, as they are printed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from compat_tests import readme
from tests.testing.test_pytest_plugin import REPOSITORY, pytest_output, ran_in

BLOCKS = readme.blocks((REPOSITORY / "docs" / "testing-applications.md").read_text(encoding="utf-8"))
SHELL = "Other languages 1"
INI = "pytest 2"


@pytest.mark.slow
def test_the_tests_pass(tmp_path: Path) -> None:
    names = []
    for number, (title, block) in enumerate(BLOCKS.items()):
        if title not in {SHELL, INI}:
            names.append(f"test_{number}.py")
            (tmp_path / names[-1]).write_text(block)
    shown = pytest_output(tmp_path, *names)
    assert " 10 passed" in shown, shown


def test_the_ini_file_has_our_options() -> None:
    from rocketwire.testing import pytest_plugin

    source = Path(pytest_plugin.__file__).read_text()
    for line in BLOCKS[INI].splitlines():
        name, equals, _ = line.partition(" =")
        assert not equals or f'"{name}"' in source


@pytest.mark.slow
def test_the_commands_work(tmp_path: Path) -> None:
    program = f'rocketwire() {{ {shlex.quote(sys.executable)} -m rocketwire "$@"; }}\n'
    # `curl` may be missing where the unit tests run.
    curl = f'curl() {{ {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / "curl.py"))} "$@"; }}\n'
    (tmp_path / "curl.py").write_text(CURL)
    script = BLOCKS[SHELL].replace("mktemp -d", f"mktemp -d -p {shlex.quote(str(tmp_path))}")
    ran = ran_in(tmp_path, "bash", "-em", "-c", program + curl + script)
    assert '"advanced": 0' in ran.stdout, ran.stderr
    assert '"advanced": 3600000' in ran.stdout
    assert ran.stdout.count("answer:215,code=SEND_MESSAGE_V2,count=2") == 2
    assert [each.name for each in tmp_path.iterdir()] == ["curl.py"]


CURL = """
import sys
from urllib.request import Request, urlopen

_, _, url, *more = sys.argv
given = dict(zip(more[::2], more[1::2]))
body = given["-d"].encode() if "-d" in given else None
with urlopen(Request(url, data=body, method=given.get("-X")), timeout=60) as answer:
    print(answer.read().decode())
"""
