"""The protocol's codecs: bytes to values and back, without I/O or clock. construct is the authority on every layout.

Begin with `frame` and `header`, then `connection`, which finds the frames in a stream of bytes; `message` is the stored
record.
May import: no other part of rocketwire, no trio, and nothing that does I/O or reads a clock.
"""
