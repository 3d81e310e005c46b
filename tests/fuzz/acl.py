"""Access control: the first byte chooses what of it is given.

f: the accounts' file. w: an entry of addresses, a line end, a client's address. s: a secret, a line end, a header, BODY
and a body: what is signed, and what a request needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from rocketwire.server.acl import access_rules, file, plain_bodies, resources, white_list
from rocketwire.server.acl.document import AclFileInvalid
from rocketwire.wire.bodies.acl import PlainAccessConfig
from rocketwire.wire.errors import BodyInvalid, FrameError
from rocketwire.wire.header import decode_header
from rocketwire.wire.signature import SIGNATURE, SecretKey, signed_content
from tests.fuzz.part import Part, always
from tests.fuzz.sessions import BODY
from tests.server.harness import NOW
from tests.wire import golden

KEY: Final = "S3cret-of-the-fuzzer"
"""What no text that anybody sees may have in it."""

_FILE: Final = f"""\
globalWhiteRemoteAddresses:
- 10.10.103.*
- 192.168.0.{{1,2}}
accounts:
- accessKey: RocketMQ
  secretKey: {KEY}
  whiteRemoteAddress: ''
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: SUB
  topicPerms:
  - topicA=DENY
  - topicB=PUB|SUB
  groupPerms: [groupA=DENY]
- accessKey: rocketmq2
  secretKey: '12345678'
  whiteRemoteAddress: 192.168.1.*
  admin: true
dataVersion:
- counter: 2
  timestamp: 1700000000000
"""


def check(data: bytes) -> None:
    """Files and entries are read or refused, and never show a secret; what is signed is known by its signature."""
    rest = data[1:]
    match data[:1]:
        case b"f":
            _file(rest)
        case b"w":
            _addresses(*rest.decode(errors="replace").partition("\n")[::2])
        case _:
            _request(rest)


def _file(data: bytes) -> None:
    try:
        found = file.read(data)
    except AclFileInvalid as error:
        assert str(error)
        assert KEY not in str(error)
        return
    shown = repr(found) + "".join(found.warnings)
    if data.count(KEY.encode()) == data.count(f"secretKey: {KEY}\n".encode()):  # nowhere else, as a name or so
        assert KEY not in shown
    assert repr(found.config)
    changed = PlainAccessConfig(access_key="newcomer", secret_key=KEY, topic_perms=("T=PUB",))
    after = file.read(file.with_account(data, changed, NOW))
    assert after.accounts.keys() == found.accounts.keys() | {"newcomer"}
    kept = [each for each in after.config.plain_access_configs if each.access_key != "newcomer"]
    assert kept == [each for each in found.config.plain_access_configs if each.access_key != "newcomer"]
    again = file.read(file.with_addresses(data, ("10.0.0.1",), NOW))
    assert len(again.white) == 1
    with contextlib.suppress(AclFileInvalid):  # there is none
        assert "RocketMQ" not in file.read(file.without_account(data, "RocketMQ", NOW)).accounts


def _addresses(entry: str, address: str) -> None:
    try:
        matches = white_list.white_list(entry)
    except white_list.WhiteListInvalid as error:
        assert str(error)
        return
    if matches is not None and _is_address(address):  # as every client's is
        assert matches(white_list.normal(address)) in {True, False}


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _request(data: bytes) -> None:
    secret, _, rest = data.partition(b"\n")
    text, _, body = rest.partition(BODY)
    try:
        header = decode_header(text, 0)
    except FrameError:
        return
    ext = header.ext or {}
    by = SecretKey(secret.decode(errors="replace"))
    others = {name: value for name, value in ext.items() if name != SIGNATURE}
    signature = by.sign(signed_content(others), body).decode()
    assert by.verify({**others, SIGNATURE: signature}, body)
    assert not by.verify({**others, SIGNATURE: signature}, body + b"x")
    with contextlib.suppress(BodyInvalid):
        wanted = access_rules.needed_permissions(header.code, ext, memoryview(body))
        assert all(resources.resource_text(each) for each in wanted.resources)
        plain_bodies.check_one_reading(header.code, memoryview(body))


def seeds() -> Iterator[bytes]:
    """A file, addresses of all kinds, and the signed requests of the captures."""
    yield b"f" + _FILE.encode()
    entries = (
        "*",
        "192.0.2.7",
        "192.0.2.{7,8}",
        "192.0.2.*",
        "192.0.2.10-20",
        "2001:db8::7:*",
        "1::{1,2}",
        "a,b",
        "*.*",
    )
    for entry in entries:
        for address in ("192.0.2.7", "2001:db8::7:1"):
            yield f"w{entry}\n{address}".encode()
    for capture in golden.captures():
        for frame in golden.frames(capture):
            word = int.from_bytes(frame.data[4:8])
            end = 8 + (word & 0xFFFFFF)
            if frame.row["kind"] == "request" and not word >> 24 and len(frame.data) < PART.longest // 2:
                yield b"s12345678\n" + frame.data[8:end] + BODY + frame.data[end:]


PART = Part(
    opened=always(check),
    seeds=seeds,
    words=[
        *("accounts:\n", "accessKey: ", "secretKey: ", "whiteRemoteAddress: ", "admin: ", "defaultTopicPerm: "),
        *("defaultGroupPerm: ", "topicPerms:\n", "groupPerms:\n", "globalWhiteRemoteAddresses:\n", "dataVersion:\n"),
        *(
            "PUB|SUB",
            "DENY",
            "=SUB",
            "true",
            "null",
            "~",
            "&a ",
            "*a",
            "<<: ",
            "!!int ",
            "!!bool ",
            "!!timestamp ",
            "!!float ",
            "!!set ",
            "!!binary ",
            "!!python/name:os",
        ),
        *(
            "- ",
            "\n  ",
            "[",
            "]",
            "{",
            "}",
            "{1,2}",
            "-",
            "::",
            "255",
            "ffff",
            "%RETRY%",
            '"AccessKey":"',
            '"Signature":"',
        ),
        BODY,
    ],
)
