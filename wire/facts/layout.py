"""Positions that follow from a layout's declaration."""

from construct import Prefixed, Struct


def positions(declaration: Struct, **context: object) -> dict[str, int]:
    """Byte offset of each field from the start of the structure, up to the first whose size varies.

    A field with its length before it gives two offsets, that of the length under its name with ``_length``.

    Args:
        declaration: A construct Struct.
        context: Values of fields that the size of others depends on.
    """
    result: dict[str, int] = {}
    at = 0
    for field in declaration.subcons:
        if isinstance(field.subcon, Prefixed):
            return result | {f"{field.name}_length": at, field.name: at + field.subcon.lengthfield.sizeof()}
        result[field.name] = at
        at += field.sizeof(**context)
    return result
