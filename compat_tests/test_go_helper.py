"""The file for tests in Go: its own tests, with the official client, against the rocketwire of this checkout."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from compat_tests import java_library, readme
from rocketwire.compat.environment import artifacts, cache

pytestmark = pytest.mark.usefixtures("only_rocketwire")

HELPER: Final = readme.ROOT / "go" / "rocketwiretest"
ENDS: Final = {"pass", "fail", "skip"}
MANUAL: Final = readme.blocks((readme.ROOT / "docs" / "testing-other-languages.md").read_text("utf-8"))


def go(*arguments: str | Path, cwd: Path) -> str:
    """What the go tool prints; it must succeed."""
    done = subprocess.run(
        [artifacts.go(), *arguments],
        cwd=cwd,
        env={**java_library.checkout_environment(), "GOTOOLCHAIN": "local", "GOWORK": "off"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def test_its_tests_and_that_of_the_manual_pass() -> None:
    module = artifacts.go_module()
    example = MANUAL["Go 1"].replace("example.com/shop/internal", "rocketwire/compat/src")
    with cache.locked("go-build"):
        for name in (HELPER.name, "orders"):
            (module / "src" / name).mkdir(parents=True, exist_ok=True)
        for source in HELPER.glob("*.go"):
            shutil.copy(source, module / "src" / HELPER.name)
        (module / "src" / "orders" / "orders_test.go").write_text(example, "utf-8")
    packages = (f"./src/{HELPER.name}", "./src/orders")
    go("vet", *packages, cwd=module)
    events = [json.loads(line) for line in go("test", "-count=1", "-json", *packages, cwd=module).splitlines()]
    ended = {event["Test"]: event["Action"] for event in events if event["Action"] in ENDS and "Test" in event}
    sources = (HELPER / "rocketwiretest_test.go").read_text("utf-8") + example
    assert ended == dict.fromkeys(re.findall(r"^func (Test\w+)\(t ", sources, re.MULTILINE), "pass")
    assert "TestOrders" in ended
