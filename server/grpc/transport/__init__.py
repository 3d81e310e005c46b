"""Connections of calls: reading, streams, answers.

Begin with `connection`; `call_steps` carries out calls, `answer_output` sends their answers.
May import: `core`, `limits`, `net`, `dispatch`; `native`, `remoting`, `wire`.
"""
