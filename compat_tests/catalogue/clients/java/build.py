"""The programs of the Java clients, compiled on the host or in the image of a container.

Each version of the client has separate classes, since its API differs. `sources/compile.sh` compiles them, here and in
the image.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from rocketwire.compat.environment import artifacts, image
from rocketwire.compat.environment.artifacts import CLIENT_VERSIONS
from rocketwire.compat.environment.cache import cached, locked
from rocketwire.compat.environment.containers import Containers

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = HERE / "sources"
_JDK_PACKAGES: Final = ("ca-certificates", "openjdk-17-jdk-headless")

# Names a public JDK image to build on instead of debootstrap's root file system.
BASE_VARIABLE: Final = "ROCKETWIRE_COMPAT_BASE"


def clients_image(containers: Containers) -> str:
    """The image with the clients of all versions and their programs; built when missing. Raises ArtifactError."""
    containers.ensure()
    base = os.environ.get(BASE_VARIABLE) or image.debian_image("jdk", _JDK_PACKAGES, containers)
    tag = f"localhost/rocketwire-clients:{sources_digest(base)}"
    if containers.has(tag):
        return tag
    with locked("clients-image"), image.new_context() as context:
        if not containers.has(tag):  # another process may have built it meanwhile
            for version in CLIENT_VERSIONS:
                jars = Path(context) / "jars" / f"client-{version}"
                shutil.copytree(artifacts.jars(version), jars, copy_function=_link)
            shutil.copytree(SOURCES, Path(context) / "java")
            (Path(context) / "java" / "compile.sh").rename(Path(context) / "compile.sh")
            shutil.copy(HERE / "Containerfile", context)
            containers.make(tag, Path(context), "Containerfile", f"BASE={base}")
    return tag


def classes() -> Path:
    """The folder with the programs compiled for each version, `classes()/VERSION`. Raises ArtifactError."""
    return cached(f"classes/{sources_digest()}", _compile)


def _compile(target: Path) -> None:
    artifacts.javac()
    all_jars = [artifacts.jars(version) for version in CLIENT_VERSIONS]
    artifacts.run(["sh", SOURCES / "compile.sh", SOURCES, all_jars[0].parent, target])


def sources_digest(*more: str) -> str:
    """A digest of everything that the compiled programs are made from, and of `more`."""
    files = sorted(path for path in SOURCES.rglob("*") if path.is_file())
    parts = [
        str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes() for path in [*files, HERE / "Containerfile"]
    ]
    return image.digest([*parts, *(text.encode() for text in (*CLIENT_VERSIONS, *more))])


def _link(source: str, target: str) -> None:
    os.link(source, target)
