"""Images of containers, built on the machine that runs them.

Theory: a root file system comes from debootstrap, that is from Debian's packages and nothing else, and becomes an image
with `FROM scratch` and `ADD`; clients' images build on it. An image's tag holds a digest of all that it is made from,
so one query of the engine finds it, and an edited program makes a new one. debootstrap uses the mirror of this
machine's apt.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rocketwire.compat.environment.artifacts import ArtifactError, ensure_programs, run
from rocketwire.compat.environment.cache import CACHE, locked
from rocketwire.compat.environment.containers import PODMAN, Containers

_HERE: Final = Path(__file__).resolve().parent
SUITE: Final = "bookworm"
# What the README requires of a fresh machine.
FRESH_PACKAGES: Final = ("ca-certificates", "make", "python3", "python3-venv")

_MAKERS: Final = {"debootstrap": "debootstrap", "gpgv": "gpgv"}


def debian_image(name: str, packages: Sequence[str], containers: Containers = PODMAN) -> str:
    """An image of a minimal Debian with `packages`; built when missing. Raises ArtifactError."""
    containers.ensure()
    tag = f"localhost/rocketwire-{name}:{digest([SUITE.encode(), *(package.encode() for package in packages)])}"
    if containers.has(tag):
        return tag
    with locked(f"{name}-image"), new_context() as context:
        if not containers.has(tag):
            debian_tree(Path(context) / "root", packages)
            run(["tar", "-C", Path(context) / "root", "-cf", Path(context) / "root.tar", "."])
            shutil.rmtree(Path(context) / "root")
            shutil.copy(_HERE / "Containerfile.base", context)
            containers.make(tag, Path(context), "Containerfile.base")
    return tag


def debian_tree(root: Path, packages: Sequence[str]) -> None:
    """Fill the new folder `root` with a minimal Debian and `packages`. Needs root's rights. Raises ArtifactError."""
    ensure_programs(_MAKERS)
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


def digest(parts: Iterable[bytes]) -> str:
    """Sixteen hexadecimal digits that stand for all the parts."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:16]


def new_context() -> tempfile.TemporaryDirectory[str]:
    """A new folder for a build, on the cache's file system so that jars are linked and not copied."""
    CACHE.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=".image-", dir=CACHE)
