"""JSON bodies of requests and answers, with fastjson's quirks in one place."""

from rocketwire.wire.bodies._codec import decode_body, encode_body

__all__ = ["decode_body", "encode_body"]
