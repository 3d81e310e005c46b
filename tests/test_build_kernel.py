"""The kernel compiles without a warning, and what does not compile leaves the old one where it was."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import build_kernel

COMPILER = shutil.which((os.environ.get("CC") or "cc").split()[0])


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    product = build_kernel.build(out=tmp_path / "kernel.so", strict=True)
    assert product.read_bytes().startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe"))


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_a_warning_is_shown_each_time_and_an_error_of_a_strict_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_kernel, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(build_kernel, "SOURCES", tmp_path / "kernel")
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "warns.c").write_text("int of(void) { int unused; return 1; }\n", encoding="utf-8")
    (tmp_path / "kernel" / "quiet.c").write_text("int other(void) { return 1; }\n", encoding="utf-8")
    for _ in range(2):
        build_kernel.build(out=tmp_path / "kernel.so")
        assert "unused variable" in capsys.readouterr().err
    with pytest.raises(build_kernel.BuildFailed, match="unused"):
        build_kernel.build(out=tmp_path / "kernel.so", strict=True)


@pytest.mark.parametrize(("compiler", "reported"), [("/bin/false", "ended with 1"), ("/nowhere/cc", "No such file")])
def test_without_a_compiler_the_old_one_stays(compiler: str, reported: str, tmp_path: Path) -> None:
    old = tmp_path / "kernel.so"
    old.write_bytes(b"old")
    with pytest.raises(build_kernel.BuildFailed, match=reported):
        build_kernel.build(cc=compiler, out=old)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("kernel.so", b"old")]


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        ({}, "does not have nghttp2's sources"),
        (
            {"lib/includes/nghttp2/nghttp2ver.h.in": "", "configure.ac": "AC_INIT([other], [1])"},
            "does not say its version",
        ),
    ],
)
def test_a_folder_that_is_not_nghttp2s_is_an_error(
    files: dict[str, str], reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("ROCKETWIRE_NGHTTP2", str(tmp_path))
    with pytest.raises(build_kernel.BuildFailed, match=reported):
        build_kernel.build(out=tmp_path / "kernel.so")


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_the_library_of_a_folder_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = (build_kernel.SOURCES / "http2" / "nghttp2.h").read_text(encoding="utf-8")
    names = re.findall(r"F\([^,]+, (\w+),", header)
    assert len(names) > 30
    lib = tmp_path / "lib"
    version = lib / "includes" / "nghttp2" / "nghttp2ver.h.in"
    version.parent.mkdir(parents=True)
    version.write_text('#define V "@PACKAGE_VERSION@ @PACKAGE_VERSION_NUM@"\n', encoding="utf-8")
    (tmp_path / "configure.ac").write_text("AC_INIT([nghttp2], [1.64.10], [who])\n", encoding="utf-8")
    text = "#include <nghttp2/nghttp2ver.h>\n"
    text += "".join(f"void nghttp2_{name}(void) {{}}\n" for name in names if name != "version")
    text += "void *nghttp2_version(int a) { static struct { int a, b; const char *v; } i = {0, 0, V}; return &i; }\n"
    (lib / "all.c").write_text(text, encoding="utf-8")
    monkeypatch.setenv("ROCKETWIRE_NGHTTP2", str(tmp_path))
    product = build_kernel.build(out=tmp_path / "_kernel.abi3.so", strict=True)
    reported = "from rocketwire.native import kernel; print(kernel.nghttp2_version())"
    environment = {**os.environ, "ROCKETWIRE_KERNEL": str(product)}
    done = subprocess.run([sys.executable, "-c", reported], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1.64.10 0x01400a\n"


def test_a_source_that_was_changed_since_is_named(tmp_path: Path) -> None:
    product = tmp_path / "kernel.so"
    for at, name in enumerate(["a.c", "room/b.h", "room/inner/c.c", "parts.def", "kernel.so", "notes.txt"], 1):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (at, at))
    assert build_kernel.newer_source(product, tmp_path) is None
    for at, name in enumerate(["room/b.h", "a.c", "room/inner/c.c", "parts.def"], 10):
        os.utime(tmp_path / name, (at, at))
        assert build_kernel.newer_source(product, tmp_path) == tmp_path / name


def test_the_command_prints_why_there_is_no_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_kernel.main(["--cc", "/bin/false", "--out", str(tmp_path / "kernel.so")]) == 1
    assert capsys.readouterr().err == "no kernel: /bin/false ended with 1\n"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_what_has_not_changed_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_kernel, "CACHE", tmp_path / "cache")
    logged = tmp_path / "cc"
    logged.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/log\nexec {COMPILER} "$@"\n', encoding="utf-8")
    logged.chmod(0o755)
    for _ in range(2):
        build_kernel.build(cc=str(logged), out=tmp_path / "kernel.so")
    calls = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    sources = list(build_kernel.SOURCES.rglob("*.c"))
    assert len([call for call in calls if " -c " in call]) == len(sources)
    assert len([call for call in calls if "-shared" in call or "-bundle" in call]) == 2
