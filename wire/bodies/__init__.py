"""JSON bodies of requests and answers, with fastjson's quirks in one place.

Begin with `fastjson`; `route`, `topic`, `group`, `client` and the others have the bodies of one subject each.
May import: no other room.
"""

from rocketwire.wire.bodies._codec import decode_body, encode_body

__all__ = ["decode_body", "encode_body"]
