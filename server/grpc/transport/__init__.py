"""Connections of calls: reading, streams, answers.

Begin with `connection`; `call_steps` carries calls out, `answer_output` sends what they give.
May import: `core`, `limits`, `net`, `dispatch`; `native`, `remoting`, `wire`.
"""
