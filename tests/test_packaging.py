"""Wheel and sdist hold real folders where the repository has links, and nothing else of the top level.

The wheel holds the C kernel where a compiler works, and is pure Python where none does.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import rocketwire
from tools.release.build import build, digest, hatchling

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("wire", "store", "server", "spark", "remoting", "cli", "compat")
DATA = ("compat/results.schema.json", "compat/report/page/page.css", "compat/report/page/page.js")
JAVA = ROOT / "compat_tests" / "catalogue" / "clients" / "java"
COMPILER = shutil.which((os.environ.get("CC") or "cc").split()[0])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    hatchling(ROOT, "-t", "wheel", "-t", "sdist", "-d", str(directory))
    return directory


def version_of(wheel: Path, where: Path) -> str:
    """The version of the program that pip installs from the wheel."""
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(where), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=600)
    settings = {key: value for key, value in os.environ.items() if key != "ROCKETWIRE_KERNEL"}
    command = [sys.executable, "-m", "rocketwire", "--version"]
    settings["PYTHONPATH"] = str(where)
    return subprocess.run(command, cwd=where, env=settings, check=True, capture_output=True, text=True).stdout


def modules_of_the_repository() -> set[str]:
    return {
        f"rocketwire/{path.relative_to(ROOT / 'rocketwire').as_posix()}"
        for package in PACKAGES
        for path in (ROOT / "rocketwire" / package).rglob("*.py")
    } | {f"rocketwire/{name}" for name in DATA}


def test_the_wheel_is_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert modules_of_the_repository() <= names
    assert {name.split("/")[0] for name in names} == {"rocketwire", "pyspark_rocketmq"}
    assert "rocketwire/py.typed" in names
    programs = {path.relative_to(JAVA).as_posix() for path in JAVA.rglob("*") if path.is_file()}
    assert {f"rocketwire/compat/clients/java/{name}" for name in programs if "__pycache__" not in name} <= names


def test_the_sdist_holds_real_files(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    top = f"rocketwire-{rocketwire.__version__}"
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isreg() for member in members)
    names = {member.name.removeprefix(f"{top}/") for member in members}
    kernel = {path.relative_to(ROOT).as_posix() for path in (ROOT / "kernel").rglob("*.[ch]")}
    assert modules_of_the_repository() | kernel | {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not any(name.endswith(".so") for name in names)
    assert not any(name.startswith(("tests/", "compat_tests/", "bench/", "wire/")) for name in names)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_the_wheel_holds_a_kernel_for_every_python_from_3_11(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert re.fullmatch(r"rocketwire-.*-cp311-abi3-(linux|macosx)_\w+\.whl", wheel.name)
    assert "rocketwire/_kernel.abi3.so" in zipfile.ZipFile(wheel).namelist()
    assert version_of(wheel, tmp_path) == f"rocketwire {rocketwire.__version__} (kernel: native)\n"


@pytest.mark.slow
def test_a_wheel_built_without_a_compiler_is_pure_and_runs(tmp_path: Path) -> None:
    said = hatchling(ROOT, "-t", "wheel", "-d", str(tmp_path), CC="/bin/false")
    assert said.splitlines()[0] == "rocketwire is built without its C kernel: /bin/false ended with 1"
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"rocketwire-{rocketwire.__version__}-py3-none-any.whl"
    assert not any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist())
    assert version_of(wheel, tmp_path / "there") == f"rocketwire {rocketwire.__version__} (kernel: python)\n"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_a_release_has_a_wheel_made_from_its_sdist_and_one_without_the_kernel(built: Path, tmp_path: Path) -> None:
    left = tmp_path / "rocketwire-0.0.0.tar.gz"
    left.touch()
    files = build(
        ROOT, tmp_path, epoch=1_700_000_000, platforms={"linux_x86_64": os.environ.get("CC") or "cc"}, nghttp2=None
    )
    assert set(tmp_path.iterdir()) == {file.path for file in files}
    version = rocketwire.__version__
    assert [(file.path.name, file.kernel, file.platform) for file in files] == [
        (f"rocketwire-{version}.tar.gz", "native", None),
        (f"rocketwire-{version}-cp311-abi3-linux_x86_64.whl", "native", "linux_x86_64"),
        (f"rocketwire-{version}-py3-none-any.whl", "python", None),
    ]
    _, native, pure = (file.path for file in files)
    assert version_of(pure, tmp_path / "pure") == f"rocketwire {version} (kernel: python)\n"
    (from_the_repository,) = built.glob("*.whl")
    # A release brings the jar of Spark where Maven is at hand.
    names = [name for name in zipfile.ZipFile(native).namelist() if name != "rocketwire/spark/rocketwire-spark.jar"]
    assert names == zipfile.ZipFile(from_the_repository).namelist()
    assert zipfile.ZipFile(native).getinfo("rocketwire/__init__.py").date_time == (2023, 11, 14, 22, 13, 20)


@pytest.mark.slow
def test_two_builds_without_a_kernel_have_the_same_bytes(tmp_path: Path) -> None:
    # With the kernels: `tox run -e release`.
    def digests(out: Path) -> list[str]:
        return [digest(file.path) for file in build(ROOT, out, epoch=1_700_000_000, platforms={}, nghttp2=None)]

    first, second = digests(tmp_path / "a"), digests(tmp_path / "b")
    assert first == second


def test_a_compiler_that_must_work_but_does_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        hatchling(ROOT, "-t", "wheel", "-d", str(tmp_path), CC="/bin/false", ROCKETWIRE_KERNEL="native")


@pytest.mark.parametrize("package", ["wire", "store", "server", "spark"])
def test_the_links_are_relative(package: str) -> None:
    assert (ROOT / "rocketwire" / package).readlink() == Path("..") / package


def test_the_link_to_the_catalogue_is_relative() -> None:
    assert (ROOT / "rocketwire" / "compat").readlink() == Path("../compat_tests/catalogue")
