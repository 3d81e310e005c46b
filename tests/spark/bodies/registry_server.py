"""A schema registry on loopback, for tests."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Fake:
    """What it answers, by path; and the requested paths, with the header Authorization."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)

    def add(self, number: int, schema: object, *, subject: str = "", version: int = 1, **more: object) -> None:
        """Register a schema."""
        found = {"schema": schema if isinstance(schema, str) else json.dumps(schema), "id": number, **more}
        self.answers[f"/schemas/ids/{number}"] = found
        self.answers[f"/subjects/{subject}/versions/{version}"] = found
        self.answers[f"/subjects/{subject}/versions/latest"] = found


@contextlib.contextmanager
def registry() -> Iterator[Fake]:
    """Run one."""
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.requests.append((self.path, self.headers["Authorization"]))
            answer = fake.answers.get(self.path, {"error_code": 40403, "message": "Schema not found"})
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            known = isinstance(answer, bytes) or "error_code" not in answer
            self.send_response(200 if known else answer["error_code"] // 100)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
