"""The part of the wheel that is due soon, in memory: slots with their messages, and markers.

Begin with `wheel`; `loaded` has its slots.
May import: `core`, `messages`; `store`, `wire`.
"""
