"""The golden data of Apache's brokers and clients: frames, stores and what is known of them."""

import json
import lzma
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2].parent / "shared" / "golden"
VERSIONS = ("4.9.7", "5.5.0")


class GoldenFrame(NamedTuple):
    """One captured frame and its line of the index."""

    capture: str
    data: bytes
    row: dict[str, Any]


def captures() -> list[Path]:
    found = sorted((ROOT / "wire").glob("*/*.frames"))
    assert found, f"no golden captures under {ROOT}"
    return found


def frames(capture: Path) -> Iterator[GoldenFrame]:
    data = capture.read_bytes()
    with capture.with_suffix(".jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield GoldenFrame(capture.stem, data[row["offset"] : row["offset"] + row["size"]], row)


@cache
def store_files(version: str, folder: str) -> dict[str, bytes]:
    """Give the files of one folder of a golden store by name."""
    with lzma.open(ROOT / f"store-{version}" / "store.tar.xz") as packed, tarfile.open(fileobj=packed) as archive:
        result = {}
        for member in archive:
            path = Path(member.name)
            if member.isfile() and path.parent.name == folder:
                content = archive.extractfile(member)
                assert content is not None
                result[path.name] = content.read()
    assert result, f"no files in {folder}"
    return result


def expected(version: str) -> list[dict[str, Any]]:
    """Give the lines of expected.jsonl: every record of the commit log as Apache's decoder reads it."""
    text = (ROOT / f"store-{version}" / "expected.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
