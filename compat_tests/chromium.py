"""Headless Chromium from Debian's packages, unpacked into the cache, and driven through a pipe.

It speaks the DevTools protocol: JSON objects, each ended by a zero byte, on the file descriptors 3 and 4. So no port is
opened, and no driver is needed.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any, Final, Self

from compat_tests import debian
from rocketwire.compat.brokers.processes import READY_WITHIN, STOP_WITHIN
from rocketwire.compat.environment import artifacts, cache
from rocketwire.compat.environment.artifacts import ArtifactError

_PACKAGES: Final = ("chromium-headless-shell", "fonts-liberation", "fonts-dejavu-core")
# What they depend on, and headless Chromium does not use.
_UNUSED: Final = r"libllvm.*|libz3-.*|libgl1-mesa-dri|libdrm-(amdgpu|intel|nouveau|radeon).*|x11-.*|xdg-utils|debconf"
_PROGRAM: Final = "usr/lib/chromium/chromium-headless-shell"
_LIBRARIES: Final = ("lib/*-linux-*", "usr/lib/*-linux-*", "usr/lib/*-linux-*/pulseaudio")
_OPTIONS: Final = (
    "--remote-debugging-pipe",
    "--no-sandbox",  # the tests may run as root, and open only their own file
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--no-first-run",
)
_FONTS: Final = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""
_STANDARD_OUTPUTS: Final = (1, 2)
_OWN: Final = 10  # from this descriptor on are the ends that are handed over, so that none is overwritten


class BrowserError(Exception):
    """The browser did not start, did not answer, or refused a command."""


class Browser:
    """A headless Chromium with an empty profile, to be used in a `with`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._pid = 0
        self._commands = 0
        self._received = b""
        self._events: deque[dict[str, Any]] = deque()

    def __enter__(self) -> Self:
        """Start it."""
        program = unpacked() / _PROGRAM
        home = Path(self._folder.name)
        (home / "fonts.conf").write_text(_FONTS.format(fonts=unpacked() / "usr/share/fonts", cache=home / "fonts"))
        libraries = [str(path) for each in _LIBRARIES for path in sorted(unpacked().glob(each))]
        env = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": ":".join(libraries),
            "FONTCONFIG_FILE": str(home / "fonts.conf"),
        }
        their_input, self._to = os.pipe()
        self._from, their_output = os.pipe()
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, _OWN) for each in (their_input, their_output)]
        log = os.open(home / "log", os.O_CREAT | os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_DUP2, theirs[0], 3), (os.POSIX_SPAWN_DUP2, theirs[1], 4)]
        actions += [(os.POSIX_SPAWN_DUP2, log, each) for each in _STANDARD_OUTPUTS]
        command = [str(program), *_OPTIONS, f"--user-data-dir={home / 'profile'}"]
        self._pid = os.posix_spawn(program, command, env, file_actions=actions)
        for each in (their_input, their_output, *theirs, log):
            os.close(each)
        try:
            self.call("Browser.getVersion", within=READY_WITHIN)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End it, by force if need be."""
        os.close(self._to)
        end = time.monotonic() + STOP_WITHIN
        while os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.02)
        os.close(self._from)
        self._folder.cleanup()

    def call(
        self,
        method: str,
        *,
        session: str | None = None,
        within: float = 60,
        **parameters: Any,  # noqa: ANN401 - as JSON has them
    ) -> dict[str, Any]:
        """The answer to a command; raises BrowserError when it refuses, or does not answer within so many seconds."""
        self._commands += 1
        number = self._commands
        command = {"id": number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        data = memoryview(json.dumps(command).encode() + b"\0")
        while data:
            data = data[os.write(self._to, data) :]
        end = time.monotonic() + within
        while True:
            found = self._next(end, method)
            if found.get("id") != number:
                self._events.append(found)
            elif "error" in found:
                raise BrowserError(f"{method}: {found['error']}")
            else:
                answer: dict[str, Any] = found["result"]
                return answer

    def events(self) -> list[dict[str, Any]]:
        """What happened since the last call."""
        found = list(self._events)
        self._events.clear()
        return found

    def _next(self, end: float, what: str) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            data = os.read(self._from, 1 << 20) if ready else b""
            if not data:
                log = (Path(self._folder.name) / "log").read_text(errors="replace")[-2000:]
                raise BrowserError(f"{what}: {'Chromium ended' if ready else 'no answer in time'}: {log}")
            self._received += data
        line, _, self._received = self._received.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found


def unpacked() -> Path:
    """The packages' files in the cache. Raises ArtifactError where there is no apt, or it does not bring them."""
    return cache.cached(f"chromium-{debian.release()}", _fetch)


def _fetch(target: Path) -> None:
    with debian.Apt("Chromium", alone=True) as apt:
        apt.unpack(target, _PACKAGES, leave=_UNUSED)
    for path in (*target.glob("usr/lib/chromium/libVk*"), *target.glob("usr/share/icons")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if not (target / _PROGRAM).is_file():
        raise ArtifactError(f"the package {_PACKAGES[0]} has no {_PROGRAM}")


AXE: Final = "axe-core@4.14.1"
"""The checker of a page's accessibility, from npm."""


def axe() -> str:
    """The source of axe-core's script. Raises ArtifactError where npm does not bring it."""
    return (cache.cached(AXE.replace("@", "-"), _fetch_axe) / "package" / "axe.min.js").read_text(encoding="utf-8")


def _fetch_axe(target: Path) -> None:
    artifacts.ensure_programs({"npm": "npm"})
    with tempfile.TemporaryDirectory(prefix="npm-") as name:
        artifacts.run(["npm", "pack", "--silent", "--pack-destination", name, AXE], cwd=Path(name))
        (archive,) = Path(name).glob("*.tgz")
        artifacts.run(["tar", "-xzf", archive, "-C", target])
