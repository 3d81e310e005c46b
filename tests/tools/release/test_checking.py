"""A wheel's tag promises no more than its kernel keeps; the sums are those of the files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.release import checking
from tools.release.build import ReleaseFailed, ReleaseFile
from tools.release.checking import check_linked, check_same_bytes, check_sums, judged, write_sums

GLIBC: dict[str, Any] = {
    "wheel": "some.whl",
    "overall_tag": "manylinux_2_17_x86_64",
    "unsupported_isa": False,
    "versioned_symbols": {"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.17"], "libpthread.so.0": ["GLIBC_2.9"]},
    "external_libs": {},
}


def test_a_kernel_that_keeps_the_promise_is_reported_with_its_newest_symbol() -> None:
    assert judged(GLIBC, "manylinux_2_17_x86_64") == "manylinux_2_17_x86_64: needs GLIBC_2.17"
    musl = GLIBC | {"overall_tag": "linux_x86_64", "sym_tag": "musllinux_1_2_x86_64", "versioned_symbols": {}}
    musl |= {"external_libs": {"libc.so": None}}
    assert judged(musl, "musllinux_1_2_x86_64") == "musllinux_1_2_x86_64: needs no symbol with a version"


@pytest.mark.parametrize(
    ("found", "reported"),
    [
        ({"overall_tag": "manylinux_2_34_x86_64"}, "finds manylinux_2_34_x86_64, not manylinux_2_17_x86_64"),
        ({"unsupported_isa": True}, "finds manylinux_2_17_x86_64, not"),
        ({"versioned_symbols": {"libm.so.6": ["GLIBC_2.2.5"]}}, "the kernel needs libm.so.6"),
        ({"external_libs": {"libc.so": None}, "overall_tag": "linux_x86_64"}, "finds linux_x86_64, not"),
        ({"external_libs": {"libz.so.1": None}}, "the kernel needs libz.so.1"),
    ],
)
def test_one_that_does_not_is_a_failure(found: dict[str, Any], reported: str) -> None:
    with pytest.raises(ReleaseFailed, match=reported):
        judged(GLIBC | found, "manylinux_2_17_x86_64")


def test_the_sums_are_checked_as_a_user_checks_them(tmp_path: Path) -> None:
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    sums = write_sums([tmp_path / "b.whl", tmp_path / "a.tar.gz"])
    assert [line.split("  ")[1] for line in sums.read_text(encoding="utf-8").splitlines()] == ["a.tar.gz", "b.whl"]
    assert check_sums(sums) == "a.tar.gz: OK\nb.whl: OK\n"
    (tmp_path / "b.whl").write_text("another", encoding="utf-8")
    with pytest.raises(ReleaseFailed, match=r"SHA256SUMS: a\.tar\.gz: OK\nb\.whl: FAILED"):
        check_sums(sums)


def wheel(path: Path, files: dict[str, bytes]) -> ReleaseFile:
    with zipfile.ZipFile(path, "w") as written:
        for name, data in files.items():
            written.writestr(name, data)
    return ReleaseFile(path=path, kernel="native", platform="x")


def test_a_kernel_that_is_not_linked_with_nghttp2_is_a_failure(tmp_path: Path) -> None:
    licence = {"x.dist-info/extra_metadata/COPYING.nghttp2": b"MIT"}
    check_linked(wheel(tmp_path / "good", {"kernel.so": b"code", **licence}))
    for number, files in enumerate(({"kernel.so": b"code"}, {"kernel.so": b"libnghttp2.so.14", **licence})):
        with pytest.raises(ReleaseFailed, match="not linked with nghttp2"):
            check_linked(wheel(tmp_path / str(number), files))


def test_a_second_build_with_other_bytes_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(folder: Path, **files: str) -> list[ReleaseFile]:
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [ReleaseFile(path=folder / name, kernel="native") for name in files]

    first = written(tmp_path / "first", same="1", other="2")
    built = {"same": "1", "other": "2"}
    monkeypatch.setattr(checking, "build", lambda _root, out, **_: written(out, **built))
    check_same_bytes(first, tmp_path, tmp_path / "second", epoch=0, platforms={}, nghttp2=tmp_path)
    built |= {"other": "3", "more": "4"}
    with pytest.raises(ReleaseFailed, match=r"other bytes: more, other$"):
        check_same_bytes(first, tmp_path, tmp_path / "second", epoch=0, platforms={}, nghttp2=tmp_path)
