"""Statistics as Apache's broker keeps them: by topic, by group and topic, and of the broker.

The kernel and its twin count the messages and bytes appended to each consume queue; every 10 s a task adds these counts
to their topics. Pulls count once for each answer.

Begin with `statistics`; `counters` and `windows` keep the sums.
May import: `core`, `config`, `messages`; `remoting`, `wire`.
"""
