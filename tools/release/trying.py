"""Trying the files of a release as a user would: install each, start the program, use it, stop it.

Theory: a file has the program of the right version and kernel, or it is no release. With every CPython that is on this
machine: an environment with what the project needs is made once, then each file is installed over the one before it.
The sdist is tried twice, with a C compiler and without, for a user may have none.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, Final, cast

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

import rocketwire
from tools.release.build import BUILD_SECONDS, ReleaseFailed, ReleaseFile, settings_of_the_caller

VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
"""The versions of CPython that pyproject.toml names."""
START_AND_STOP_SECONDS: Final = 120
SPARK_SECONDS: Final = 300
_TOPIC: Final = "Released"
_COUNT_WITH_SPARK: Final = f"""
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("messages:", spark.read.format("rocketmq").load("data").where("topic = '{_TOPIC}'").count())
"""


def python_of(version: str) -> Path | None:
    """A CPython of this version, `3.12`, that reaches an index; None: this machine has none."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    for folder in os.get_exec_path():
        program = Path(folder) / f"python{version}"
        command_line = [str(program), "-c", "import ssl, sys; print('%d.%d' % sys.version_info[:2])"]
        if shutil.which(program):
            output = subprocess.run(command_line, check=False, capture_output=True, text=True)
            if output.stdout.strip() == version:
                return program
    return None


def fits_here(file: ReleaseFile) -> bool:
    """Whether pip would take the file on this machine."""
    if file.platform is None:
        return True
    return not set(sys_tags()).isdisjoint(parse_wheel_filename(file.path.name)[3])


def new_environment(python: Path, environment: Path) -> None:
    """Make a virtual environment without pip: only what a file needs will be in it."""
    subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)


def install(file: Path, environment: Path, *, extra: str = "", **settings: str) -> Path:
    """Install a file and what it needs, or only the file in place of another one; return the program's path.

    Raises:
        subprocess.CalledProcessError: pip failed, and has printed the reason.
    """
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        environment / "bin" / "python",
        "install",
        "--quiet",
    ]
    if (environment / "bin" / "rocketwire").exists() and not extra:
        pip += ["--force-reinstall", "--no-deps", "--no-cache-dir"]  # the cache may have another sdist's wheel
    command = [*pip, f"{file.absolute()}{extra}"]
    subprocess.run(command, check=True, env=settings_of_the_caller() | settings, timeout=BUILD_SECONDS)
    return environment / "bin" / "rocketwire"


def try_program(command: Sequence[str | Path], *, kernel: str, folder: Path, messages: int) -> None:
    """Query the program's version, start it with the store `data` in a folder, send messages to it, and stop it.

    Raises:
        ReleaseFailed: the version or the kernel is another one, it does not start, does not take a message, or does not
            stop as it should.
    """
    settings = settings_of_the_caller()
    expected = f"rocketwire {rocketwire.__version__} (kernel: {kernel})"
    output = subprocess.run(
        [*command, "--version"], env=settings, cwd=folder, capture_output=True, text=True, check=False
    )
    if output.stdout.strip() != expected:
        raise ReleaseFailed(f"expected {expected!r}, got {(output.stdout + output.stderr).strip()!r}")
    uses = (["topic", "create", _TOPIC], ["message", "send", "--count", str(messages), _TOPIC, "tried"])
    with _served(command, folder, settings) as namesrv:
        for use in uses if namesrv else ():
            sending = [*command, *use, "--namesrv", namesrv]
            done = subprocess.run(
                sending,
                env=settings,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=START_AND_STOP_SECONDS,
            )
            if done.returncode:
                raise ReleaseFailed(f"{' '.join(use[:2])} failed: {(done.stdout + done.stderr).strip()}")


@contextmanager
def _served(command: Sequence[str | Path], folder: Path, settings: dict[str, str]) -> Iterator[str]:
    """Serve meanwhile, and yield the name server's address; an empty string if it does not start."""
    options = ["serve", "--namesrv", "127.0.0.1:0", "--broker", "127.0.0.1:0", "--store", "data"]
    log = folder / "log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, *options], env=settings, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        hung = Timer(START_AND_STOP_SECONDS, server.kill)
        hung.start()
        ready = cast("IO[str]", server.stdout).readline()  # empty if it ends before
        try:
            yield next((word for word in ready.replace(",", " ").split() if word.startswith("127.0.0.1:")), "")
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait()
            hung.cancel()
    if not ready.startswith("rocketwire ready: ") or code:
        raise ReleaseFailed(f"a start and a stop ended with {code}: {ready}{log.read_text(encoding='utf-8')}")


def try_spark(environment: Path, folder: Path, *, messages: int) -> None:
    """Count the messages of the store `data` in a folder with the Spark of an environment. Needs Java.

    Raises:
        ReleaseFailed: Spark finds no data source, or another count.
    """
    python = str(environment / "bin" / "python")
    done = subprocess.run(
        [python, "-c", _COUNT_WITH_SPARK],
        env=settings_of_the_caller() | {"PYSPARK_PYTHON": python},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SPARK_SECONDS,
    )
    if f"messages: {messages}" not in done.stdout.splitlines():
        raise ReleaseFailed(f"Spark does not count {messages} messages: {done.stdout}{done.stderr[-2000:]}")


def try_files(files: Sequence[ReleaseFile], python: Path, environment: Path, *, spark: bool) -> Iterator[str]:
    """Try with one Python every file that fits this machine, in a new environment; yield a line for each.

    Args:
        files: The wheel with a kernel first, so that nothing but wheels is needed to begin with.
        python: The interpreter.
        environment: The folder to make the environment in.
        spark: Whether the extra `spark` is tried, too, at the end.

    Raises:
        ReleaseFailed: a file does not do what it must.
        subprocess.CalledProcessError: a file cannot be installed.
    """
    new_environment(python, environment)
    here = [file for file in files if fits_here(file)]
    wheels = sorted((file for file in here if file.path.suffix == ".whl"), key=lambda file: file.platform is None)
    tries: list[tuple[Path, str, dict[str, str]]] = [(file.path, file.kernel, {}) for file in wheels]
    for sdist in (file.path for file in here if file not in wheels):
        tries += [(sdist, "native", {"ROCKETWIRE_KERNEL": "native"}), (sdist, "python", {"CC": "/bin/false"})]
    for path, kernel, settings in tries:
        program = install(path, environment, **settings)
        with tempfile.TemporaryDirectory(prefix="release-") as folder:
            try_program([program], kernel=kernel, folder=Path(folder), messages=3)
        yield f"{path.name}{' without a compiler' if 'CC' in settings else ''}: kernel {kernel}"
    if spark:
        best = wheels[0]
        program = install(best.path, environment)
        install(best.path, environment, extra="[spark]")
        with tempfile.TemporaryDirectory(prefix="release-") as folder:
            try_program([program], kernel=best.kernel, folder=Path(folder), messages=3)
            try_spark(environment, Path(folder), messages=3)
        yield f"{best.path.name}[spark]: Spark counts the messages"
