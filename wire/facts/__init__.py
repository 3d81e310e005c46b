"""Facts of the protocol and of the files, each declared once, with its source: numbers, names and layouts.

No other module spells them, and nothing is computed here but the positions that follow from a layout. C and Java get
them from here: `python -m tools.generated` writes their constants.

Begin with `codes`, `properties` or `record`.
May import: no other room.
"""
