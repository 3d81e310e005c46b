"""The stores of a read: found, opened, checked, and fixed in snapshots when the read is planned.

Begin with `opening`; `snapshot` fixes the data that a read sees.
May import: `files`, `request`; `store`, `wire`.
"""
