"""Byte layouts of the store's files, one declaration each (the record is declared in wire.message).

Declarations are the authority; `fixed_struct` derives the fast codec of a run of plain fields from them.

Begin with `record`; `derive` makes the fast codecs and numpy types.
May import: `wire`.
"""
