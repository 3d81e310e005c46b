"""The library for tests in Java: its own tests, by Maven, against the rocketwire of this checkout; and its manual."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from compat_tests import java_library, readme
from compat_tests.docker_api import docker_api
from compat_tests.java_library import CLASSES, LIBRARY
from compat_tests.server_image import server_image
from rocketwire.compat.environment import artifacts

pytestmark = pytest.mark.usefixtures("only_rocketwire")

IN_CONTAINER: Final = {"RocketwireContainerTest"}
JAVA_8: Final = 52  # the version of its class files
MANUAL: Final = readme.blocks((readme.ROOT / "docs" / "testing-other-languages.md").read_text("utf-8"))


@pytest.fixture(scope="module")
def passed() -> Mapping[str, int]:
    return java_library.run_tests()


def test_its_tests_pass(passed: Mapping[str, int]) -> None:
    assert passed.keys() == java_library.classes_with_tests() - IN_CONTAINER
    assert passed["RocketwireServerTest"] >= 9


@pytest.mark.usefixtures("passed")
def test_java_8_can_load_it() -> None:
    versions = {int.from_bytes(path.read_bytes()[6:8], "big") for path in CLASSES.rglob("*.class")}
    assert versions == {JAVA_8}


@pytest.mark.usefixtures("passed")
def test_it_runs_without_junit_and_other_libraries(tmp_path: Path) -> None:
    program = tmp_path / "Main.java"
    program.write_text(
        "import io.github.rocketwire.testing.RocketwireServer;\n"
        "public class Main { public static void main(String[] none) throws Exception {\n"
        f"{MANUAL['Without a test framework 1'].replace('…', 'System.out.println(rocketmq.clock().advanced());')}}} }}",
        "utf-8",
    )
    done = subprocess.run(
        [artifacts.java(), "-cp", CLASSES, program],
        env=java_library.checkout_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("PT1H\n", 0), done.stderr


def test_the_manual_shows_a_test_that_is_run() -> None:
    source = (LIBRARY / "src/test/java/io/github/rocketwire/testing/OrdersTest.java").read_text("utf-8")
    assert MANUAL["JUnit 5 1"].strip() in source


def test_its_container_serves_tests(tmp_path: Path) -> None:
    image = server_image()
    with docker_api(tmp_path) as address:
        passed = java_library.run_tests(
            "-Pcontainer",
            f"-Drocketwire.image={image}",
            env={
                "DOCKER_HOST": address,
                "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
                "TESTCONTAINERS_RYUK_DISABLED": "true",  # its image would come from a registry
            },
        )
    assert passed.keys() == IN_CONTAINER
    assert passed["RocketwireContainerTest"] == 2
