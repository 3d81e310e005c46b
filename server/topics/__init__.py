"""The broker's topics and subscription groups: configuration, automatic creation, permissions, message types.

Begin with `topics` and `subscription_groups`.
May import: `core`, `config`, `limits`; `remoting`, `store`, `wire`.
"""
