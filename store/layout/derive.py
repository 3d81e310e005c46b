"""Fast codecs and numpy types derived from construct declarations, so that no offset or size is typed twice."""

from __future__ import annotations

import struct

from construct import Struct


def _fields(declaration: Struct) -> list[tuple[str, str]]:
    """Name and struct code (such as `q`) of every field of a construct Struct of plain big-endian integers."""
    return [(field.name, field.subcon.fmtstr.lstrip(">")) for field in declaration.subcons]


def fixed_struct(declaration: Struct) -> struct.Struct:
    """The struct.Struct that packs the declaration's fields in their order."""
    return struct.Struct(">" + "".join(code for _, code in _fields(declaration)))


def dtype_fields(declaration: Struct) -> list[tuple[str, str]]:
    """The declaration as a field list for numpy.dtype (packed, big-endian)."""
    return [(name, f">i{struct.calcsize('>' + code)}") for name, code in _fields(declaration)]
