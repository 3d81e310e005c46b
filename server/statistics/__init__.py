"""Statistics as Apache's broker keeps them: by topic, by group and topic, and of the broker.

Sends count nothing for them. The kernel and its twin add up, in each consume queue, the messages and bytes appended;
every 10 s a task adds these counts to their topics. Pulls count once for each answer.

Begin with `statistics`; `counters` and `windows` keep the sums.
May import: `core`, `config`, `messages`; `remoting`, `wire`.
"""
