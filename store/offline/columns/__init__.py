"""Columns beside a store: memory-mapped columns derived from every message, so that queries need not read the log.

A folder of them is a manifest and segments. A segment is written once, and counts when a manifest names it: the
manifest is replaced as a whole, so a kill at any time leaves the older state.

Begin with `manifest`; `extend` makes columns, `queries` reads them.
May import: `disk`, `records`; `wire`.
"""
