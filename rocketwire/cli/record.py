"""`rocketwire record`: a proxy in front of an endpoint that writes what passes to a file."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import count_of, json_line, size, warn
from rocketwire.cli.parameter_types import FILE

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from rocketwire.capture.record.proxy import RecordedCounts, RecordingProxy
    from rocketwire.wire.addresses import Address

_EPILOG: Final = """\
Clients use the address of --listen as their name server. The routes that they get name the proxy in the place of the
brokers, so that all their connections lead through it, by the VIP channel too; everything else passes byte for byte.
Connections of clients are plain; those to the endpoint are encrypted with --tls. The account of the options is not
used: clients sign for themselves.

Access keys, signatures, secret keys and passwords are masked in the file, in the headers of requests, in the bodies of
administration and in remarks; their clients and the endpoint get them unchanged. What applications send in messages is
recorded as it is, except with --no-bodies. The file can be read while it grows. Ctrl-C ends the recording.

\b
Examples:
  rocketwire record session.rwr                 # clients use 127.0.0.1:9875
  rocketwire record session.rwr --namesrv 10.0.0.5:9876 --listen 0.0.0.0:9870
  rocketwire record session.rwr --no-bodies     # for a public bug report
"""
_DEFAULT: Final = "127.0.0.1:9875"


@online_command("record", _EPILOG)
@click.argument("file", metavar="FILE", type=FILE)
@click.option(
    "--listen", metavar="HOST:PORT", default=_DEFAULT, show_default=True, help="Where clients find the name server."
)
@click.option("--no-bodies", is_flag=True, help="Leave the bodies of frames out: headers only.")
@click.option("--with-secrets", is_flag=True, help="Record access keys, signatures and secret keys, too.")
def command(
    endpoint: ClusterAccess, *, file: str, listen: str, no_bodies: bool, with_secrets: bool, as_json: bool
) -> int:
    """Record what clients and an endpoint send each other, in a new file, until Ctrl-C."""
    from rocketwire.capture.file.writer import RecordingWriter
    from rocketwire.capture.record.proxy import RecordingProxy, Upstream
    from rocketwire.capture.record.relay import RecordingOptions
    from rocketwire.capture.record.routes import listen as listening
    from rocketwire.cli.serve import address_of
    from rocketwire.remoting.requests import name_server_addresses

    address = address_of("--listen", listen)
    servers = tuple(name_server_addresses(endpoint.name_servers))
    endpoint.connected().close()  # else the user would learn only from the clients that there is none
    began = time.monotonic_ns()
    with listening(address) as sock, RecordingWriter(file) as writer:
        proxy = RecordingProxy(
            Upstream(name_servers=servers, tls=endpoint.tls, timeout=endpoint.timeout),
            writer,
            options=RecordingOptions(bodies=not no_bodies, secrets=with_secrets),
            now=lambda: (time.monotonic_ns() - began) // 1000,
            warn=warn,
        )

        def ready(where: Address) -> None:
            if as_json:
                json_line({"listening": str(where), "file": file})
            else:
                print(f"recording {endpoint.name_servers} to {file}: clients use the name server {where}")
            sys.stdout.flush()

        _run(proxy, sock, address.host, ready)
    _report_end(proxy.counts, file, as_json=as_json, written=writer.written)
    return 0


def _run(proxy: RecordingProxy, sock: socket.socket, host: str, ready: Callable[[Address], None]) -> None:
    """Record until SIGINT or SIGTERM. Further ones change nothing: the file is closed first."""
    import trio

    from rocketwire import __version__
    from rocketwire.server.core.clocks.clock import system_clock

    async def until_signal() -> None:
        token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as scope:
            for number in stopping:
                signal.signal(number, lambda *_: token.run_sync_soon(scope.cancel))
            await proxy.run(sock, host=host, wall=system_clock(), program=f"rocketwire {__version__}", ready=ready)

    stopping = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        trio.run(until_signal)
    finally:
        for number, handler in stopping.items():
            signal.signal(number, handler)


def _report_end(counts: RecordedCounts, file: str, *, as_json: bool, written: int) -> None:
    if as_json:
        json_line(
            {
                "file": file,
                "connections": counts.connections,
                "frames": counts.frames,
                "bytes": counts.bytes,
                "file_bytes": written,
            }
        )
        return
    what = f"{count_of(counts.frames, 'frame')} of {count_of(counts.connections, 'connection')}"
    print(f"recorded {what}, {size(counts.bytes)}; {file} has {size(written)}")
