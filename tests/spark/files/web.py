"""A small web server for files: pages of links for directories, and ranges, if it has to know them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote


class Web(ThreadingHTTPServer):
    """Serves what is below a directory; `requests` has method, path and Range of each request, `sent` counts bytes."""

    daemon_threads = True

    def __init__(self, root: Path, *, ranges: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.ranges = ranges
        self.requests: list[tuple[str, str, str | None]] = []
        self.sent = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: clients go when they have what they want."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append((self.command, self.path, wanted))
        path = self.server.root / unquote(self.path).strip("/")
        if "secret" in self.path:
            self._send(403, b"")
        elif path.is_dir():
            links = "".join(
                f'<a href="{quote(each.name)}{"/" * each.is_dir()}">{each.name}</a>' for each in sorted(path.iterdir())
            )
            self._send(200, f"<html>{links}</html>".encode(), "text/html")
        elif not path.is_file():
            self._send(404, b"")
        elif wanted and self.server.ranges:
            content = path.read_bytes()
            bounds = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
            assert bounds
            first, last = int(bounds[1]), min(int(bounds[2]), len(content) - 1)
            if first > last:
                self._send(416, b"")
            else:
                self._send(206, content[first : last + 1], range_=f"bytes {first}-{last}/{len(content)}")
        else:
            self._send(200, path.read_bytes())

    def _send(self, status: int, body: bytes, kind: str = "application/octet-stream", range_: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if range_:
            self.send_header("Content-Range", range_)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
            self.server.sent += len(body)


@contextmanager
def serving(root: Path, *, ranges: bool = True) -> Iterator[Web]:
    with Web(root, ranges=ranges) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            web.shutdown()
            thread.join()
