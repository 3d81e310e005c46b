"""How many environments tox has, and which tests run once more without the kernel."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMPORTS_KERNEL = re.compile(r"^\s*from rocketwire import .*\bnative\b", re.MULTILINE)


def left_out() -> list[str]:
    """The folders of tests that the environment `twin` leaves out."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    return re.findall(r"--ignore=tests/(\S+)", tox["testenv:twin"]["without_adapters"])


def test_what_the_twin_leaves_out_has_no_kernel_adapter() -> None:
    rooms = left_out()
    assert "server/topics" in rooms
    for room in rooms:
        assert (ROOT / "tests" / room).is_dir(), room
        found = [path for path in (ROOT / room).rglob("*.py") if IMPORTS_KERNEL.search(path.read_text("utf-8"))]
        assert found == [], f"{room} uses the kernel: its tests must run with its twin too"


def test_adapters_are_recognised() -> None:
    for room in ("server/send", "server/net", "store/append"):
        assert any(IMPORTS_KERNEL.search(path.read_text("utf-8")) for path in (ROOT / room).rglob("*.py")), room


def test_there_are_few_environments() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    names = [name.removeprefix("testenv:") for name in tox.sections() if name.startswith("testenv:")]
    assert len(names) <= 12
    assert set(tox["tox"]["env_list"].split(", ")) <= set(names)
