"""Only sources with the expected sum are linked; cargo itself runs in `tox run -e release`."""

from pathlib import Path

import pytest

from tools.release import nghttp2
from tools.release.build import ReleaseFailed

LOCK = """version = 4

[[package]]
name = "cc"
version = "1.11.3"
checksum = "02f0"

[[package]]
name = "libnghttp2-sys"
version = "0.1.13+1.68.1"
source = "registry"
checksum = "{sum}"
dependencies = [
 "cc",
]
"""


def test_the_sum_of_the_crate_is_compared() -> None:
    nghttp2.check_sum(LOCK.format(sum=nghttp2._SHA256))
    with pytest.raises(ReleaseFailed, match="has the sum abc, not"):
        nghttp2.check_sum(LOCK.format(sum="abc"))
    with pytest.raises(ReleaseFailed, match="has the sum None, not"):
        nghttp2.check_sum("version = 4")


def test_without_cargo_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReleaseFailed, match="cargo, which fetches nghttp2's sources: No such file"):
        nghttp2.fetch(tmp_path / "sources")
