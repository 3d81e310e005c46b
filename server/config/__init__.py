"""How configuration keys are declared and read, the keys of the broker itself, and the live view of a group of keys.

Begin with `keys`, which declares one key; `live` gives services the configuration in force. Each room has its own
`keys`.
May import: `wire`.
"""
