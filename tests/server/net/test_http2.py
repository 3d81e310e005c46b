"""The choice of the HTTP/2 implementation; what both do: tests/wire/http2."""

import subprocess
import sys

import pytest

from rocketwire import native
from rocketwire.server.net import http2
from rocketwire.wire.http2.connection import PythonHttp2

LIMITS: http2.Http2Limits = {
    "streaming": frozenset(),
    "max_message": 1000,
    "max_header_list": 1000,
    "max_streams": 10,
    "window": 65_535,
}


class WithoutTheLibrary:
    @staticmethod
    def nghttp2_version() -> None:
        return None


def test_the_kernel_serves_if_it_finds_the_library() -> None:
    made = http2.make_http2(**LIMITS)
    version = http2.libnghttp2_version()
    if native.kernel is None:
        assert (version, type(made)) == (None, PythonHttp2)
    else:
        assert version is not None
        assert type(made) is native.kernel.Http2


@pytest.mark.parametrize("kernel", [None, WithoutTheLibrary])
def test_otherwise_the_twin_serves(kernel: type | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel", kernel)
    assert http2.libnghttp2_version() is None
    assert type(http2.make_http2(**LIMITS)) is PythonHttp2


def test_h2_is_not_imported_before_there_is_a_connection() -> None:
    code = "import sys, rocketwire.server.net.http2, rocketwire.server.run; print('h2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
