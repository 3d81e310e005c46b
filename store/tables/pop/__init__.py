"""Tables of POP in `config/`: what is in order and in flight, and where groups were reset.

Begin with `order_info`.
May import: `disk`; `wire`.
"""
