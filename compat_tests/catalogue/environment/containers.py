"""What runs containers and keeps their images: podman, or Docker where its daemon runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocketwire.compat.environment.artifacts import ensure_programs, run

_BUILD_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """One of the two programs.

    Attributes:
        program: Its name.
        run: The beginning of the command that runs a container.
        build: The beginning of the command that builds an image; `-t TAG -f FILE FOLDER` ends it.
        packages: The Debian packages that are installed where its programs are missing (program -> package).
    """

    program: str
    run: tuple[str, ...]
    build: tuple[str, ...]
    packages: Mapping[str, str]

    def ensure(self) -> None:
        """Install what is missing, where that is possible. Raises ArtifactError."""
        ensure_programs(self.packages)

    def has(self, tag: str) -> bool:
        """Whether it has the image. Raises ArtifactError: it does not answer, as where Docker's daemon does not run."""
        return tag in run([self.program, "images", "--format", "{{.Repository}}:{{.Tag}}"]).split()

    def make(self, tag: str, context: Path, containerfile: str, *arguments: str) -> None:
        """Build an image. Raises ArtifactError."""
        options = [option for argument in arguments for option in ("--build-arg", argument)]
        file = context / containerfile
        run([*self.build, *options, "-t", tag, "-f", file, context], timeout=_BUILD_SECONDS)


# podman's default limits are above a machine's.
_LIMITS: Final = (
    "--log-driver", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "host",
)  # fmt: skip

# With runc, since crun is not everywhere. The RUN steps of a build work in a chroot: they need no runtime.
PODMAN: Final = Containers(
    program="podman",
    run=("podman", "--runtime", "runc", "run", *_LIMITS),
    build=("buildah", "bud", "--isolation", "chroot"),
    packages={"podman": "podman", "buildah": "buildah", "runc": "runc"},
)
# Docker is used where it is chosen and installed: no daemon is installed here.
DOCKER: Final = Containers(program="docker", run=("docker", "run", *_LIMITS), build=("docker", "build"), packages={})
