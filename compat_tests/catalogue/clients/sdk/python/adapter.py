"""The adapter of the Python client of 5.x, whose programs run apart from rocketwire's own packages."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rocketwire.compat.clients import sources
from rocketwire.compat.clients.adapter import Adapter, Engine, Security
from rocketwire.compat.clients.python import shared
from rocketwire.compat.environment import artifacts, cache

_HERE: Final = Path(__file__).resolve().parent
_REQUIREMENTS: Final = _HERE / "requirements.txt"
_RUNNER: Final = _HERE / "runner"
_SHARED: Final = Path(shared.__file__)
_PROGRAM: Final = re.compile(r'^    "(\w+)": \w+,$', re.MULTILINE)
_VERSION: Final = re.compile(r"^rocketmq-python-client==(\S+)$", re.MULTILINE)


class PythonSdk(Adapter):
    """Apache's Python client of 5.x, `rocketmq-python-client`."""

    name = "Apache's Python client of 5.x"
    version = _VERSION.findall(_REQUIREMENTS.read_text("utf-8"))[0]
    id = f"python-grpc-{version}"
    language = "Python"
    grpc = True
    programs = frozenset(_PROGRAM.findall((_RUNNER / "programs.py").read_text("utf-8")))
    secures = frozenset({Security.ACL})  # with TLS it verifies certificates, and has no option for trusted ones

    def missing(self, engine: Engine) -> str:
        """Besides the engine, pip."""
        lacking = super().missing(engine)
        return lacking or ("" if importlib.util.find_spec("pip") else "missing for this Python: pip")

    def prepare(self, engine: Engine) -> None:
        """Fetch the client with pip, as the requirements pin it."""
        del engine
        _installed()

    def command(self, engine: Engine, *, env: Mapping[str, str], name: str) -> list[str]:
        """Python with the client's packages, and none of this one's."""
        del engine, name
        home = cache.cached("home", lambda _: None)
        variables = [f"{key}={value}" for key, value in env.items()]
        # The client logs into the home folder.
        return ["env", *variables, f"HOME={home}", f"PYTHONPATH={_installed()}", sys.executable, "-S", "-m", "runner"]


def _installed() -> Path:
    """The folder of the programs and of the packages that they need."""
    files = [_REQUIREMENTS, _SHARED, *sources.files_of(_RUNNER, (".py",))]
    python = f"{sys.implementation.cache_tag}-{sys.platform}"
    return cache.cached(f"clients/sdk-python-{sources.digest(files, python)}", _install)


def _install(target: Path) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--root-user-action", "ignore", "--no-warn-conflicts"]
    options: list[str | Path] = ["--no-deps", "--only-binary", ":all:", "--target", target, "-r", _REQUIREMENTS]
    artifacts.run([sys.executable, "-m", "pip", "install", *quiet, *options])
    shutil.copytree(_RUNNER, target / "runner")
    shutil.copy(_SHARED, target / "runner")
