"""Fetches everything that the compatibility tests need: `python -m compat_tests.install` prints where it is."""

from __future__ import annotations

import sys

from compat_tests import chromium, postgres
from compat_tests.programs import find_programs
from rocketwire.compat.environment import image
from rocketwire.compat.environment.artifacts import (
    CLIENT_VERSIONS,
    GO_VERSION,
    PACKAGES,
    SERVER_VERSIONS,
    ArtifactError,
    ensure_programs,
    fetch_jars,
    go_module,
    jars,
)


def install() -> None:
    """Fetch everything the compatibility tests need; raises ArtifactError at the first thing that can't be had."""
    ensure_programs(PACKAGES)
    sets = [("client", version) for version in CLIENT_VERSIONS] + [("server", version) for version in SERVER_VERSIONS]
    fetch_jars(sets)
    for kind, version in sets:
        print(f"{kind} {version}: {jars(version, kind=kind)}", flush=True)
    print(f"Go client {GO_VERSION}: {go_module()}", flush=True)
    print(f"PostgreSQL: {postgres.unpacked()}", flush=True)
    print(f"Chromium: {chromium.unpacked()}", flush=True)
    print(f"axe-core: {len(chromium.axe())} bytes", flush=True)
    programs = find_programs()
    print(f"Java clients: {programs.description}", flush=True)
    if programs.in_container:
        print(f"fresh machine: {image.debian_image('fresh', image.FRESH_PACKAGES)}", flush=True)


def main() -> int:
    """Install all; the exit code is 0, or 2 after one line on stderr."""
    try:
        install()
    except ArtifactError as error:
        print(f"artifacts: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
