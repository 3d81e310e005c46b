"""Layout of a record of the commit log, which a pull returns as it is stored.

``RECORD`` is the authority on the layout (version 1, and version 2 of 5.x with a 16-bit topic length; hosts of 8 bytes
for IPv4 and 20 for IPv6 by the sysFlag). It is what MessageDecoder.decode of Apache reads. The positions of the fields
are derived from it, and so are the formats of `struct` for its head.
"""

import itertools
from struct import Struct
from typing import Final

import construct as cs

from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.layout import positions
from rocketwire.wire.hosts import HOST_V4_SIZE, HOST_V6_SIZE
from rocketwire.wire.java import to_int32

MAGIC_V1: Final = to_int32(0xDAA320A7)  # MessageDecoder.MESSAGE_MAGIC_CODE
MAGIC_V2: Final = to_int32(0xDAA320AB)  # MessageDecoder.MESSAGE_MAGIC_CODE_V2
BLANK_MAGIC: Final = to_int32(0xCBD43194)  # MessageDecoder.BLANK_MAGIC_CODE
"""Magic number of the blank at the end of a commit log file."""

MAX_PROPERTIES_LENGTH: Final = 32767
"""Bytes of the property text, whose length is a signed 16-bit number."""
MAX_TOPIC_LENGTH_V1: Final = 127
"""Bytes of a topic in a record of version 1, whose length is a signed byte; that of version 2 (5.x) has 16 bits."""
MAX_TOPIC_LENGTH_V2: Final = 32767
BODY_CRC_MASK: Final = 0x7FFFFFFF
"""Apache keeps 31 bits of a CRC-32, so that it is not negative in Java."""

RECORD: Final = cs.Struct(
    "total_size" / cs.Int32sb,
    "magic" / cs.Int32sb,
    "body_crc" / cs.Int32sb,
    "queue_id" / cs.Int32sb,
    "flag" / cs.Int32sb,
    "queue_offset" / cs.Int64sb,
    "physical_offset" / cs.Int64sb,
    "sys_flag" / cs.Int32sb,
    "born_timestamp" / cs.Int64sb,
    "born_host" / cs.Bytes(lambda this: HOST_V6_SIZE if this.sys_flag & SysFlag.BORN_HOST_V6 else HOST_V4_SIZE),
    "store_timestamp" / cs.Int64sb,
    "store_host" / cs.Bytes(lambda this: HOST_V6_SIZE if this.sys_flag & SysFlag.STORE_HOST_V6 else HOST_V4_SIZE),
    "reconsume_times" / cs.Int32sb,
    "prepared_transaction_offset" / cs.Int64sb,
    "body" / cs.Prefixed(cs.Int32sb, cs.GreedyBytes),
    "topic" / cs.Prefixed(cs.IfThenElse(cs.this.magic == MAGIC_V2, cs.Int16sb, cs.Int8sb), cs.GreedyBytes),
    "properties" / cs.Prefixed(cs.Int16sb, cs.GreedyBytes),
)

END_OF_FILE_BLANK: Final = cs.Struct("size" / cs.Int32sb, "magic" / cs.Const(BLANK_MAGIC, cs.Int32sb))
"""The blank that ends a commit log file: the bytes left (with its own 8) and a magic number; anything may follow."""

POSITIONS: Final = positions(RECORD, sys_flag=0)
"""Where fields begin in a record with IPv4 hosts; those behind a host are 12 bytes later if it is IPv6."""
TOTAL_SIZE_AT: Final = POSITIONS["total_size"]
MAGIC_AT: Final = POSITIONS["magic"]
BODY_CRC_AT: Final = POSITIONS["body_crc"]
QUEUE_ID_AT: Final = POSITIONS["queue_id"]
FLAG_AT: Final = POSITIONS["flag"]
QUEUE_OFFSET_AT: Final = POSITIONS["queue_offset"]
PHYSICAL_OFFSET_AT: Final = POSITIONS["physical_offset"]
SYS_FLAG_AT: Final = POSITIONS["sys_flag"]
BORN_TIMESTAMP_AT: Final = POSITIONS["born_timestamp"]
BORN_HOST_AT: Final = POSITIONS["born_host"]
STORE_TIMESTAMP_AT_IPV4: Final = POSITIONS["store_timestamp"]
"""Of a record whose born host is IPv4; 12 bytes later with IPv6."""

HOST_BITS: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
"""The bits of a sysFlag that give the sizes of the hosts."""


def _head(host_bits: int) -> Struct:
    """The format of everything up to and with the body's length, with the hosts that these bits mean."""
    fields = itertools.takewhile(lambda field: field.name != "body", RECORD.subcons)
    parts = (field.subcon for field in fields)
    codes = [f"{part.sizeof(sys_flag=host_bits)}s" if isinstance(part, cs.Bytes) else part.fmtstr[1:] for part in parts]
    return Struct(f">{''.join(codes)}{RECORD.body.subcon.lengthfield.fmtstr[1:]}")


RECORD_HEADS: Final = {
    bits: _head(bits) for bits in (0, int(SysFlag.BORN_HOST_V6), int(SysFlag.STORE_HOST_V6), HOST_BITS)
}
"""By the bits of the hosts, the format of a record's head: all up to and with the body's length."""
TOPIC_LENGTH_FORMATS: Final = {MAGIC_V1: Struct(">b"), MAGIC_V2: Struct(">h")}
"""The form of the topic length in a record of each version."""
SMALLEST_RECORD: Final = RECORD_HEADS[0].size + 1 + 2
"""Bytes: no body, a topic of no bytes behind a length of one, properties of no bytes behind one of two."""
