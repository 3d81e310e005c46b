"""Fault injection, for authors of clients: rules define which requests get which fault (docs/faults.md).

Begin with `rule`, a rule as a value; `rules` finds the one for a request, `faulty` applies it in front of the
dispatcher.
May import: `core`, `config`, `net`, `dispatch`, `http`; `wire`.
"""
