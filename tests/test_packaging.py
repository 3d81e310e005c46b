"""Wheel and sdist hold real folders where the repository has links, and nothing else of the top level."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import rocketwire

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("wire", "store", "server", "spark", "cli")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(directory)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return directory


def modules_of_the_repository() -> set[str]:
    return {
        f"rocketwire/{path.relative_to(ROOT / 'rocketwire').as_posix()}"
        for package in PACKAGES
        for path in (ROOT / "rocketwire" / package).rglob("*.py")
    }


def test_the_wheel_is_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert modules_of_the_repository() <= names
    assert {name.split("/")[0] for name in names} == {"rocketwire"}
    assert "rocketwire/py.typed" in names


def test_the_sdist_holds_real_files(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    top = f"rocketwire-{rocketwire.__version__}"
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isreg() for member in members)
    names = {member.name.removeprefix(f"{top}/") for member in members}
    assert modules_of_the_repository() | {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not any(name.startswith(("tests/", "compat_tests/", "bench/", "wire/")) for name in names)


@pytest.mark.parametrize("package", ["wire", "store", "server", "spark"])
def test_the_links_are_relative(package: str) -> None:
    assert (ROOT / "rocketwire" / package).readlink() == Path("..") / package
