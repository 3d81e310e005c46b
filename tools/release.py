"""Build what a release consists of, and try each file of it as a user would (`make release`, docs/releasing.md).

The files are the sdist, and made from it a wheel with the C kernel for this platform and one without for all others.
twine checks how they are described. Each is installed into an environment of its own, where the program must say its
version, start, and stop at SIGTERM.
"""

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Timer
from typing import IO, Final, cast

import rocketwire

OUT: Final = Path("dist/release")
BUILD_SECONDS: Final = 600
START_AND_STOP_SECONDS: Final = 120


class ReleaseFailed(Exception):
    """A file of the release does not do what it must."""


def hatchling(where: Path, *options: str, **environment: str) -> str:
    """Build the project in a folder, with the kernel as `environment` says and not as the caller's does.

    Returns:
        What was said to the user.

    Raises:
        subprocess.CalledProcessError: it cannot be built.
    """
    command = [sys.executable, "-m", "hatchling", "build", *options]
    done = subprocess.run(
        command,
        cwd=where,
        env=_without_kernel_setting() | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    return done.stdout + done.stderr


def build(root: Path, out: Path) -> dict[Path, str]:
    """Build the release into a folder, of which everything else is removed.

    Returns:
        The sdist and both wheels, and which kernel each must have once it is installed.

    Raises:
        subprocess.CalledProcessError: one cannot be built; there is no C compiler, say.
    """
    shutil.rmtree(out, ignore_errors=True)
    hatchling(root, "-t", "sdist", "-d", str(out.absolute()))
    (sdist,) = out.glob("*.tar.gz")
    files = {sdist: "native"}
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        source = Path(folder) / sdist.name.removesuffix(".tar.gz")
        for kernel in ("native", "python"):
            hatchling(source, "-t", "wheel", "-d", str(out.absolute()), ROCKETWIRE_KERNEL=kernel)
            (wheel,) = set(out.glob("*.whl")) - set(files)
            files[wheel] = kernel
    return files


def installed(file: Path, environment: Path) -> Path:
    """Install a file, and what it needs, into a new virtual environment; return the program's path there."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip: list[str | Path] = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", file.absolute()]
    subprocess.run(pip, check=True, env=_without_kernel_setting(), timeout=BUILD_SECONDS)
    return environment / "bin" / "rocketwire"


def try_program(command: Sequence[str | Path], *, kernel: str, folder: Path) -> None:
    """Ask the program for its version, start it with a store in a folder, and stop it.

    Raises:
        ReleaseFailed: the version or the kernel is another one, it does not start, or not stop as it should.
    """
    settings = _without_kernel_setting()
    expected = f"rocketwire {rocketwire.__version__} (kernel: {kernel})"
    asked = [*command, "--version"]
    said = subprocess.run(asked, env=settings, cwd=folder, capture_output=True, text=True, check=False)
    if said.stdout.strip() != expected:
        raise ReleaseFailed(f"expected {expected!r}, got {(said.stdout + said.stderr).strip()!r}")
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
        server.send_signal(signal.SIGTERM)
        code = server.wait()
        hung.cancel()
    if not ready.startswith("rocketwire ready: ") or code:
        raise ReleaseFailed(f"a start and a stop ended with {code}: {ready}{log.read_text(encoding='utf-8')}")


def unfinished(root: Path) -> Iterator[str]:
    """Say what has to be done before the files may be published."""
    if f"\n## {rocketwire.__version__} (" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        yield f"CHANGELOG.md has no entry for {rocketwire.__version__}"
    if left := len(list((root / "newsfragments").glob("*.md"))):
        yield f"newsfragments has {left} files that are in no entry"


def _without_kernel_setting() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key != "ROCKETWIRE_KERNEL"}


def main() -> int:
    """Build and try a release of the repository that is the working folder."""
    files = build(Path(), OUT)
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    for file, kernel in files.items():
        with tempfile.TemporaryDirectory(prefix="release-") as folder:
            print(f"Trying {file}", flush=True)
            try_program([installed(file, Path(folder) / "environment")], kernel=kernel, folder=Path(folder))
    print("Built, installed, started and stopped:", *files, sep="\n  ")
    for reason in unfinished(Path()):
        print(f"Not to be published yet: {reason} (docs/releasing.md)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
