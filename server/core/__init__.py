"""What every room builds on: requests, replies, routes, errors and their response codes, clock, logs, counts."""
