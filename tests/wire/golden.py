"""The golden data of Apache's brokers and clients: frames, stores, and what is known of them."""

import csv
import json
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

_ROOT: Final = Path(__file__).resolve().parents[1] / "golden"  # which has a README
_PROTOCOL: Final = _ROOT / "protocol"
_POP: Final = _ROOT / "pop-5.5.0"
HEADER_VARIANTS: Final = _ROOT / "header-variants-4.9.7.json"
"""What Apache's servers make of header fields that are missing, empty or malformed."""

VERSIONS: Final = ("4.9.7", "5.5.0")
"""Of the brokers and clients that wrote the data."""


class Capture(NamedTuple):
    """The frames of one scenario."""

    version: str
    name: str

    def __str__(self) -> str:
        return f"{self.version}-{self.name}"


class GoldenFrame(NamedTuple):
    """One captured frame and its line of the index."""

    capture: str
    data: bytes
    row: dict[str, Any]


def captures(*versions: str) -> list[Capture]:
    """All captures, or those of some versions."""
    return [
        Capture(version, name.removesuffix(".frames"))
        for version in versions or VERSIONS
        for name in sorted(_wire(version))
        if name.endswith(".frames")
    ]


def frames(capture: Capture) -> Iterator[GoldenFrame]:
    """Give a capture's frames in the order in which they were sent; the rows are the caller's own."""
    files = _wire(capture.version)
    data = files[f"{capture.name}.frames"]
    for line in files[f"{capture.name}.jsonl"].decode().splitlines():
        row = json.loads(line)
        yield GoldenFrame(capture.name, data[row["offset"] : row["offset"] + row["size"]], row)


@cache
def _wire(version: str) -> dict[str, bytes]:
    with tarfile.open(_ROOT / f"wire-{version}.tar.xz") as archive:
        return {member.name: _content(archive, member) for member in archive}


@cache
def store_files(version: str, folder: str) -> dict[str, bytes]:
    """Give the files of one folder of a golden store by name."""
    with _open_store(version) as archive:
        found = [(Path(member.name), member) for member in archive if member.isfile()]
        result = {path.name: _content(archive, member) for path, member in found if path.parent.name == folder}
    assert result, f"no files in {folder}"
    return result


def expected(version: str) -> list[dict[str, Any]]:
    """Give the lines of expected.jsonl: every record of the commit log as Apache's decoder reads it."""
    with _open_store(version) as archive:
        text = _content(archive, archive.getmember("expected.jsonl")).decode()
    return [json.loads(line) for line in text.splitlines()]


def unpack_store(version: str, to: Path) -> None:
    """Put a golden store into `to`/store, and beside it the broker's configuration and what is known of the store."""
    with _open_store(version) as archive:
        # Not an argument: Python 3.11.2, which is Debian 12's, has none of that name.
        archive.extraction_filter = getattr(tarfile, "data_filter", _as_it_is)
        archive.extractall(to)


def _as_it_is(member: tarfile.TarInfo, _: str) -> tarfile.TarInfo:
    return member


def table(name: str) -> list[dict[str, str]]:
    """Give the rows of a table of the protocol: `request_codes`, `response_codes` or `headers`."""
    with (_PROTOCOL / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def bodies() -> dict[str, dict[str, str]]:
    """Give the JSON of each class of bodies, by version; 5.5.0's only where it is another text."""
    found: dict[str, dict[str, str]] = json.loads((_PROTOCOL / "bodies.json").read_text(encoding="utf-8"))
    return found


def batches(version: str) -> dict[str, Any]:
    """Give what a 5.5.0 client's batch and sends by hand became at a broker of this version."""
    found: dict[str, Any] = json.loads((_ROOT / "batch-5.5.0" / f"broker-{version}.json").read_text(encoding="utf-8"))
    return found


def grpc_declarations() -> dict[str, list[str]]:
    """Give what the official packages' .proto files declare, by package."""
    found: dict[str, list[str]] = json.loads((_ROOT / "grpc-declarations.json").read_text(encoding="utf-8"))
    return found


def grpc_cases(part: str) -> list[Any]:
    """Give what Apache's proxy makes of values: `sends`, `deliveries`, `groups`, `values`, `filters` and more."""
    return _grpc()[part]


@cache
def _grpc() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads((_ROOT / "grpc-5.5.0.json").read_text(encoding="utf-8"))
    return found


@cache
def answers() -> dict[str, Any]:
    """What a 5.5.0 broker and its proxy answered: `receives` and `sends` by gRPC, `offsetsByTime` to code 29."""
    found: dict[str, Any] = json.loads((_ROOT / "answers-5.5.0.json").read_text(encoding="utf-8"))
    return found


def pop_rows(name: str) -> list[dict[str, Any]]:
    """Requests about assignments (`modes`) or pops in order (`order`), and what 5.5.0's broker answered and wrote."""
    found: list[dict[str, Any]] = json.loads((_POP / f"{name}.json").read_text(encoding="utf-8"))
    return found


def pop_file(name: str) -> bytes:
    """A file that it wrote meanwhile."""
    return (_POP / name).read_bytes()


def _open_store(version: str) -> tarfile.TarFile:
    return tarfile.open(_ROOT / f"store-{version}.tar.xz")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(member)
    assert content is not None
    return content.read()
