"""Recordings of the traffic between clients and an endpoint: the file, the recording proxy, the replay."""
