"""Build what a release consists of, and try each file of it as a user would (`make release`, docs/releasing.md).

The files are the sdist, and made from it one wheel a platform with the C kernel and one without for all others, a bill
of materials and the sums of all of them. twine checks how they are described, auditwheel what the kernels need; a
second build must give the same bytes. What fits this machine is installed with every Python that is on it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import rocketwire
from tools.release.bill import write_bill
from tools.release.build import PLATFORMS, build, time_of_the_commit
from tools.release.checking import check_linked, check_platform, check_same_bytes, check_sums, write_sums
from tools.release.nghttp2 import fetch
from tools.release.trying import VERSIONS, fits_here, install, new_environment, python_of, try_files
from tools.release.version import unfinished

OUT: Final = Path("dist/release")


def print_line(line: str) -> None:
    """Print a line at once: the steps take minutes."""
    print(line, flush=True)


def main() -> int:
    """Build and try a release of the repository that is the working folder."""
    root, epoch = Path(), time_of_the_commit(Path())
    print_line(f"Building for {', '.join(PLATFORMS)}")
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        nghttp2 = fetch(Path(folder) / "sources")
        files = build(root, OUT, epoch=epoch, platforms=PLATFORMS, nghttp2=nghttp2)
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *(file.path for file in files)], check=True)
        for file in files:
            if file.platform is not None:
                check_linked(file)
                print_line(check_platform(file))
        again = Path(folder) / "again"
        check_same_bytes(files, root, again, epoch=epoch, platforms=PLATFORMS, nghttp2=nghttp2)
    print_line("A second build gives the same bytes")

    bill = OUT / f"rocketwire-{rocketwire.__version__}.cdx.json"
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        environment = Path(folder) / "environment"
        new_environment(Path(sys.executable), environment)
        install(files[-1].path, environment)
        write_bill(environment, root, bill, epoch=epoch)
    print_line(check_sums(write_sums([*(file.path for file in files), bill])).rstrip())

    for version in VERSIONS:
        python = python_of(version)
        if python is None:
            print_line(f"Python {version}: not tried, it is not on this machine")
            continue
        with tempfile.TemporaryDirectory(prefix="release-") as folder:
            for line in try_files(files, python, Path(folder) / "environment", spark=True):
                print_line(f"Python {version}: {line}")
    for file in files:
        if not fits_here(file):
            print_line(f"{file.path.name}: built, not tried, for this machine is another one")
    for reason in unfinished(root):
        print_line(f"Not to be published yet: {reason} (docs/releasing.md)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
