"""An S3 server on loopback that records requests: moto, with real requests and real listings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from moto.server import ThreadedMotoServer
from pyarrow import fs

from rocketwire.compat.brokers.ports import LOOPBACK

KEYS = {"access_key": "rocketwire", "secret_key": "not-so-secret", "region": "us-east-1"}


class S3Request(NamedTuple):
    """A request: its method, its path with the query, and the bytes of its range (None: no range)."""

    method: str
    path: str
    range: tuple[int, int] | None

    @property
    def is_listing(self) -> bool:
        return "list-type=2" in self.path

    @property
    def length(self) -> int:
        assert self.range is not None
        return self.range[1] - self.range[0] + 1


class ObjectStore:
    """The S3 server, with one bucket; `requests` are those it received."""

    bucket = "rocketmq"

    def __init__(self, server: ThreadedMotoServer) -> None:
        host, port = server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        self.requests: list[S3Request] = []
        served: Any = server._server  # noqa: SLF001 - werkzeug's own, of which the application can be had nowhere else
        inner = served.app

        def counting(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
            bounds = environ.get("HTTP_RANGE", "").removeprefix("bytes=").split("-")
            wanted = (int(bounds[0]), int(bounds[1])) if len(bounds) == 2 else None
            path = f"{environ['PATH_INFO']}?{environ['QUERY_STRING']}"
            self.requests.append(S3Request(environ["REQUEST_METHOD"], path, wanted))
            answer: Iterable[bytes] = inner(environ, start_response)
            return answer

        served.app = counting
        self.files = fs.S3FileSystem(endpoint_override=self.endpoint, allow_bucket_creation=True, **KEYS)
        self.files.create_dir(self.bucket)

    @property
    def options(self) -> dict[str, Any]:
        """The data source's options for it."""
        return {f"fs.{name}": text for name, text in {**KEYS, "endpoint_override": self.endpoint}.items()}

    def put(self, directory: Path, name: str) -> str:
        """Copy a directory; its URL."""
        for path in directory.rglob("*"):
            if path.is_file():
                with self.files.open_output_stream(f"{self.bucket}/{name}/{path.relative_to(directory)}") as stream:
                    stream.write(path.read_bytes())
        return f"s3://{self.bucket}/{name}"

    def reads(self) -> list[S3Request]:
        """The requests for what is in objects."""
        return [request for request in self.requests if request.method == "GET" and not request.is_listing]


@contextmanager
def running() -> Iterator[ObjectStore]:
    """An S3 that stops at the end."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(LOOPBACK, 0, verbose=False)
    server.start()
    try:
        yield ObjectStore(server)
    finally:
        server.stop()
