"""The sources of nghttp2, which a release's wheels are linked with, so that gRPC needs no library of the system.

They come from the crate libnghttp2-sys, whose registry every cargo reaches: nghttp2's own releases are at a place that
build machines may not reach. cargo compares what it fetches with the sum of its index, and this with the sum below.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from tools.release.build import ReleaseFailed

VERSION: Final = "1.68.1"
_CRATE: Final = "libnghttp2-sys"
_CRATE_VERSION: Final = f"0.1.13+{VERSION}"
_SHA256: Final = "492e00167f1418c15648144f42bbfc63099806ecee9bf8d09a6353d6b4856b3c"
_MANIFEST: Final = f"""[package]
name = "sources"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
{_CRATE} = "={_CRATE_VERSION}"
"""
_FETCH_SECONDS: Final = 300


def fetch(folder: Path) -> Path:
    """Fetch the sources into a folder; return that of nghttp2.

    Raises:
        ReleaseFailed: cargo is missing or cannot fetch them, or they are others than expected.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(_MANIFEST, encoding="utf-8")
    (folder / "lib.rs").touch()
    command = ["cargo", "vendor", "--quiet", "--versioned-dirs", "vendor"]
    try:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=_FETCH_SECONDS)
    except OSError as error:
        raise ReleaseFailed(f"cargo, which fetches nghttp2's sources: {error.strerror}") from error
    if done.returncode:
        raise ReleaseFailed(f"cargo vendor: {done.stderr.strip()}")
    check_sum((folder / "Cargo.lock").read_text(encoding="utf-8"))
    return folder / "vendor" / f"{_CRATE}-{_CRATE_VERSION}" / "nghttp2"


def check_sum(lock: str) -> None:
    """Check the crate's sum in the text of Cargo.lock.

    Raises:
        ReleaseFailed: it is not the one that is expected.
    """
    found = re.search(rf'(?m)^name = "{_CRATE}"\n(?:.+\n)*?checksum = "(\w+)"', lock)
    if found is None or found[1] != _SHA256:
        raise ReleaseFailed(f"{_CRATE} {_CRATE_VERSION} has the sum {found and found[1]}, not {_SHA256}")
