"""Programs from Debian's packages, unpacked into a folder and not installed.

apt works in separate folders, so that the machine's package lists and its installed packages stay as they are.
"""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from rocketwire.compat.environment import artifacts
from rocketwire.compat.environment.artifacts import ArtifactError

# Not to be mixed with the machine's own.
_OF_THE_SYSTEM: Final = re.compile(r"(libc6|libc-bin|libc-l10n|locales)_")
_NOT_NEEDED: Final = ("usr/share/doc", "usr/share/locale", "usr/share/man", "usr/share/perl5", "usr/lib/perl5")


def release() -> str:
    """The name of the machine's release, such as `bookworm`."""
    found = platform.freedesktop_os_release()
    return found.get("VERSION_CODENAME") or found["ID"]


class Apt:
    """apt with fresh package lists, to be used in a `with`.

    Args:
        what: What needs the packages, for the error where there is no apt.
        alone: Whether to see no package as installed, so that all that a package depends on is unpacked with it.

    Raises:
        ArtifactError: There is no apt, or it brings no lists.
    """

    def __init__(self, what: str, *, alone: bool = False) -> None:
        self._what = what
        self._alone = alone
        self._folder = tempfile.TemporaryDirectory(prefix="apt-")
        self._state = Path(self._folder.name)

    def __enter__(self) -> Self:
        """Fetch the package lists."""
        for program in ("apt-get", "dpkg"):
            if shutil.which(program) is None:
                raise ArtifactError(f"{program}: no such program, and {self._what} comes from Debian's packages")
        try:
            (self._state / "lists" / "partial").mkdir(parents=True)
            (self._state / "archives" / "partial").mkdir(parents=True)
            artifacts.run(["apt-get", *self._options(), "update", "-q"])
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the lists and the packages."""
        self._folder.cleanup()

    def _options(self) -> list[str]:
        state = self._state
        options = [f"Dir::State::Lists={state}/lists", f"Dir::Cache={state}", "Debug::NoLocking=1"]
        options += ["APT::Sandbox::User=", "Acquire::Languages=none"]
        if self._alone:
            (state / "status").touch()
            options.append(f"Dir::State::status={state}/status")
        return [part for option in options for part in ("-o", option)]

    def cache(self, *command: str) -> str:
        """The output of apt-cache. Raises ArtifactError."""
        return artifacts.run(["apt-cache", *self._options(), *command])

    def unpack(self, target: Path, packages: Sequence[str], *, leave: str = "(?!)") -> None:
        """Unpack packages, and of what they depend on all that counts as not installed; raises ArtifactError.

        Packages whose names match the regular expression `leave` are skipped.
        """
        install = ["install", "-q", "-y", "--no-install-recommends", "--reinstall", "--download-only"]
        artifacts.run(["apt-get", *self._options(), *install, *packages])
        for package in sorted((self._state / "archives").glob("*.deb")):
            name = package.name.partition("_")[0]
            if not _OF_THE_SYSTEM.match(package.name) and not re.fullmatch(leave, name):
                artifacts.run(["dpkg", "-x", package, target])
        for path in _NOT_NEEDED:
            shutil.rmtree(target / path, ignore_errors=True)
