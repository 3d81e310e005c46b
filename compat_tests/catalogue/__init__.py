"""Compatibility: scenarios that official clients run against an endpoint known by its addresses only.

`scenario` declares them and `scenarios` holds them by feature; `clients` has an adapter for each client; `environment`
fetches what clients and Apache's brokers are made of, and `brokers` starts these; `engine` runs scenarios and collects
evidence. The repository's tests run the same catalogue, with pytest (compat_tests).
"""
