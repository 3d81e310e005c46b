"""Tables of POP in `config/`: pops in order that are in flight, and offset resets of groups.

Begin with `order_info`.
May import: `disk`; `wire`.
"""
