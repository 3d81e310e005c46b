"""The container images of the compatibility tests, built on the machine that runs them.

Theory: a root file system comes from debootstrap, that is from Debian's packages and nothing else, and becomes an image
with `FROM scratch` and `ADD`; on top come Maven's jars and the scenarios, compiled in the image. An image's tag holds a
digest of all that it is made from, so "is it there?" is one question to the engine and an edited scenario makes a new
one. The mirror that debootstrap asks is the one that this machine's apt uses.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from compat_tests.artifacts import (
    CACHE,
    CLIENT_VERSIONS,
    CONTAINER_PACKAGES,
    ArtifactError,
    ensure_programs,
    jars,
    locked,
    run,
)

HERE: Final = Path(__file__).resolve().parent
SUITE: Final = "bookworm"
JDK_PACKAGES: Final = ("ca-certificates", "openjdk-17-jdk-headless")
# What the README asks of a fresh machine.
FRESH_PACKAGES: Final = ("ca-certificates", "make", "python3", "python3-venv")

# Runs a container here: crun is not everywhere, and the limits that podman asks for by default are above a machine's.
PODMAN_RUN: Final = (
    "podman", "--runtime", "runc", "run", "--log-driver", "none",
    "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "host",
)  # fmt: skip

# Names a public JDK image to build on instead of debootstrap's root file system.
BASE_VARIABLE: Final = "ROCKETWIRE_COMPAT_BASE"


def clients_image() -> str:
    """The image with the official clients and the compiled scenarios; built when missing. Raises ArtifactError."""
    ensure_programs(CONTAINER_PACKAGES)
    base = os.environ.get(BASE_VARIABLE) or debian_image("jdk", JDK_PACKAGES)
    tag = f"localhost/rocketwire-clients:{sources_digest(base)}"
    if _exists(tag):
        return tag
    with locked("clients-image"), _context() as context:
        if not _exists(tag):  # another test process may have built it meanwhile
            for version in CLIENT_VERSIONS:
                shutil.copytree(jars(version), Path(context) / "jars" / f"client-{version}", copy_function=_link)
            shutil.copytree(HERE / "java", Path(context) / "java")
            (Path(context) / "java" / "compile.sh").rename(Path(context) / "compile.sh")
            shutil.copy(HERE / "Containerfile", context)
            _build(tag, Path(context), "Containerfile", f"BASE={base}")
    return tag


def debian_image(name: str, packages: Sequence[str]) -> str:
    """An image of a minimal Debian with `packages`; built when missing. Raises ArtifactError."""
    ensure_programs(CONTAINER_PACKAGES)
    tag = f"localhost/rocketwire-{name}:{_digest([SUITE.encode(), *(package.encode() for package in packages)])}"
    if _exists(tag):
        return tag
    with locked(f"{name}-image"), _context() as context:
        if not _exists(tag):
            debian_tree(Path(context) / "root", packages)
            run(["tar", "-C", Path(context) / "root", "-cf", Path(context) / "root.tar", "."])
            shutil.rmtree(Path(context) / "root")
            shutil.copy(HERE / "Containerfile.base", context)
            _build(tag, Path(context), "Containerfile.base")
    return tag


def debian_tree(root: Path, packages: Sequence[str]) -> None:
    """Fill the new folder `root` with a minimal Debian and `packages`. Needs root's rights. Raises ArtifactError."""
    ensure_programs({name: CONTAINER_PACKAGES[name] for name in ("debootstrap", "gpgv")})
    run(["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, root, debian_mirror()])
    for archive in (root / "var/cache/apt/archives").glob("*.deb"):
        archive.unlink()


def debian_mirror() -> str:
    """Where this machine's apt gets Debian's main packages from. Raises ArtifactError when it knows no such place."""
    targets = [
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)",
        "Created-By: Packages",
    ]
    for refresh in (False, True):
        if refresh:
            run(["apt-get", "update", "-q"])
        for line in run(targets).splitlines():
            origin, component, codename, address = line.split(" ", 3)
            if (origin, component) == ("Debian", "main") and "-" not in codename:
                return address
    raise ArtifactError("this machine's apt names no Debian mirror, which debootstrap needs")


def sources_digest(*more: str) -> str:
    """A digest of everything that the compiled scenarios are made from, and of `more`."""
    files = sorted(path for path in (HERE / "java").rglob("*") if path.is_file())
    parts = [
        str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes() for path in [*files, HERE / "Containerfile"]
    ]
    return _digest([*parts, *(text.encode() for text in (*CLIENT_VERSIONS, *more))])


def _digest(parts: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:16]


def _exists(tag: str) -> bool:
    return tag in run(["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"]).split()


def _build(tag: str, context: Path, containerfile: str, *arguments: str) -> None:
    """Build an image; its RUN steps work in a chroot, which needs no runtime of their own."""
    options = [option for argument in arguments for option in ("--build-arg", argument)]
    file = context / containerfile
    run(["buildah", "bud", "--isolation", "chroot", *options, "-t", tag, "-f", file, context], timeout=600)


def _context() -> tempfile.TemporaryDirectory[str]:
    """A new folder for a build, on the cache's file system so that jars are linked and not copied."""
    CACHE.mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".image-", dir=CACHE)


def _link(source: str, target: str) -> None:
    os.link(source, target)
