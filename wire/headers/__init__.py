"""Typed request and response headers: the extFields of each code, one module per family."""

from rocketwire.wire.headers._codec import WireHeader, decode_ext, encode_ext

__all__ = ["WireHeader", "decode_ext", "encode_ext"]
