"""The parameters of a read: its options, ranges of offsets, and the pushed filters of a query.

Begin with `request`; `options` are the values, `option_parsing` makes them from texts.
May import: `files`; `wire`.
"""
