"""`rocketwire serve --brokers N`: broker processes under one name server, started again when they end.

Begin with `supervisor`, which runs them and passes on what they report; `broker_process` is one of them,
`summed_metrics` and `http_client` make one `/metrics` and one `/readyz` of theirs.
May import: every room that its layer allows (pyproject.toml); `store`, `wire`.
"""
