"""Typed request and response headers: the extFields of each code, one module per family.

Begin with `send` or `pull`; each module has the headers of one family of codes.
May import: no other room.
"""

from rocketwire.wire.headers._codec import WireHeader, decode_ext, encode_ext

__all__ = ["WireHeader", "decode_ext", "encode_ext"]
