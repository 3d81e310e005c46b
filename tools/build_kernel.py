"""Compiles the C files of `kernel/` into `rocketwire/_kernel.abi3.so`, in place.

Objects are kept in `build/kernel`, so that only what changed is compiled again. Needs a C compiler (`--cc`, else the
environment's CC, else `cc`) and Python's headers. hatch_build.py uses it for wheels and editable installs.

With ROCKETWIRE_NGHTTP2 in the environment, the folder of nghttp2's sources, its library becomes a part of the kernel;
else the kernel loads the system's when it is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "kernel"
CACHE: Final = ROOT / "build" / "kernel"
PRODUCT: Final = Path("rocketwire") / "_kernel.abi3.so"
FLAGS: Final = (
    *("-O3", "-std=c11", "-fPIC", "-fvisibility=hidden"),
    *("-iquote", SOURCES.name),  # an include names the room: "wire/frame.h"
    "-DPy_LIMITED_API=0x030B0000",  # one binary for CPython 3.11 and later
    *("-Wall", "-Wextra", "-Werror=implicit-function-declaration"),  # what the limited API lacks is not declared
)
# On macOS, symbols of the interpreter are looked up when the module is loaded.
LINK: Final = ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared",)
LIBRARIES: Final = ("-ldl",)  # older C libraries have dlopen there


class BuildFailed(Exception):
    """The compiler could not be started, or it failed; the text is its output."""


def build(
    *,
    cc: str | None = None,
    out: Path | None = None,
    sanitize: str | None = None,
    strict: bool = False,
    trace: Path | None = None,
) -> Path:
    """Compile and link the kernel and return its path.

    Args:
        cc: the compiler, with options if need be; the environment's CC, else `cc`, when None.
        out: the file to write; `rocketwire/_kernel.abi3.so` of this repository when None.
        sanitize: which sanitizers to compile in, `address,undefined`; whatever they find ends the process.
        strict: whether a warning is an error.
        trace: a C file to link that gcc's calls at each place and each comparison of the code go to.

    Raises:
        BuildFailed: there is no kernel now; an older one is not changed.
    """
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise BuildFailed("this interpreter has no limited API")
    compiler = shlex.split(cc or os.environ.get("CC") or "cc")
    flags = [*FLAGS]
    link = [*LINK]
    if sanitize:
        instrument = [f"-fsanitize={sanitize}", "-fno-sanitize-recover=all"]
        flags += ["-g", "-O1", "-fno-omit-frame-pointer", *instrument]
        link += instrument
    if trace:
        flags += ["-fsanitize-coverage=trace-pc,trace-cmp"]
        link += ["-O2", "-fPIC", "-fvisibility=hidden", str(trace)]
    arch = shlex.split(os.environ.get("ARCHFLAGS", ""))  # the processors of builds for macOS
    flags += [*arch, "-I", sysconfig.get_path("include")]
    objects = _compiled(compiler, flags, strict=strict)
    product = out or ROOT / PRODUCT
    product.parent.mkdir(parents=True, exist_ok=True)
    # Running processes may have the old file mapped, so the new one is renamed over it, not written into it.
    with tempfile.TemporaryDirectory(dir=product.parent) as folder:
        linked = Path(folder) / product.name
        _run([*compiler, *arch, *link, "-o", str(linked), *map(str, objects), *LIBRARIES])
        linked.replace(product)
    return product


def newer_source(product: Path, sources: Path = SOURCES) -> Path | None:
    """A source of the kernel that was changed after it was built, the last one; None: there is none."""
    newest = max((path for kind in ("*.[ch]", "*.def") for path in sources.rglob(kind)), key=_changed_at)
    return newest if _changed_at(newest) > _changed_at(product) else None


def _changed_at(path: Path) -> int:
    return path.stat().st_mtime_ns


def _compiled(compiler: Sequence[str], flags: Sequence[str], *, strict: bool) -> list[Path]:
    """The objects of all C files, compiled where the cache has none of the same text and flags.

    One that was compiled with a warning is not taken again: the next build shows the warning, too, and a strict one
    can take what others compiled.
    """
    sources = sorted(SOURCES.rglob("*.c"))
    library, header = _nghttp2()
    if library is not None:
        sources += sorted((library / "lib").glob("*.c"))
        flags = [*flags, "-DROCKETWIRE_NGHTTP2_LINKED", "-DNGHTTP2_STATICLIB"]
        flags += ["-DHAVE_ARPA_INET_H", "-DHAVE_NETINET_IN_H", f"-fmacro-prefix-map={library}=nghttp2"]
        flags += ["-I", str(library / "lib" / "includes"), "-I", str(header)]
    shared = hashlib.sha256("\0".join([*compiler, *flags]).encode())
    cache = CACHE / shared.hexdigest()[:12]
    cache.mkdir(parents=True, exist_ok=True)
    for header in sorted(path for kind in ("*.h", "*.def") for path in SOURCES.rglob(kind)):
        shared.update(header.read_bytes())

    def compiled(source: Path) -> Path:
        key = shared.copy()
        key.update(source.read_bytes())
        ours = source.is_relative_to(SOURCES)
        name = "-".join(source.relative_to(SOURCES).with_suffix("").parts) if ours else f"nghttp2-{source.stem}"
        product = cache / f"{name}-{key.hexdigest()[:16]}.o"
        if product.exists():
            return product
        for kind in ("", "-warned"):
            for old in cache.glob(f"{name}-{'?' * 16}{kind}.o"):
                old.unlink(missing_ok=True)
        warnings = (["-Werror"] if strict else []) if ours else ["-w"]
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            made = Path(folder) / product.name
            warned = _run([*compiler, *flags, *warnings, "-c", str(source), "-o", str(made)])
            return made.replace(product.with_stem(f"{product.stem}-warned") if warned else product)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, sources))


def _nghttp2() -> tuple[Path | None, Path]:
    """The folder of nghttp2's sources, if one is named; and that of the header which its own build makes."""
    made = CACHE / "nghttp2"
    named = os.environ.get("ROCKETWIRE_NGHTTP2")
    if not named:
        return None, made
    library = Path(named)
    form = library / "lib" / "includes" / "nghttp2" / "nghttp2ver.h.in"
    if not form.is_file():
        raise BuildFailed(f"{library} does not have nghttp2's sources")
    version = re.search(r"(?m)^AC_INIT\(\[nghttp2\], \[([0-9.]+)", (library / "configure.ac").read_text("utf-8"))
    if version is None:
        raise BuildFailed(f"{library} does not say its version")
    number = "".join(f"{int(part):02x}" for part in version[1].split("."))
    text = form.read_text("utf-8").replace("@PACKAGE_VERSION@", version[1])
    (made / "nghttp2").mkdir(parents=True, exist_ok=True)
    (made / "nghttp2" / "nghttp2ver.h").write_text(text.replace("@PACKAGE_VERSION_NUM@", f"0x{number}"), "utf-8")
    return library, made


def _run(command: Sequence[str]) -> str:
    """Run it, and show and return its warnings."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildFailed(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BuildFailed(f"{command[0]} ended with {done.returncode}\n{done.stderr}".rstrip())
    sys.stderr.write(done.stderr)
    return done.stderr


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the kernel with the command line's options and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.build_kernel", description="Build the C kernel in place.")
    parser.add_argument("--cc", help="the C compiler (default: CC of the environment, else cc)")
    parser.add_argument("--out", type=Path, help=f"the file to write (default: {PRODUCT})")
    parser.add_argument("--sanitize", metavar="NAMES", help="sanitizers to compile in: address,undefined")
    parser.add_argument("--strict", action="store_true", help="a warning is an error")
    options = parser.parse_args(arguments)
    try:
        build(cc=options.cc, out=options.out, sanitize=options.sanitize, strict=options.strict)
    except BuildFailed as failed:
        print(f"no kernel: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
