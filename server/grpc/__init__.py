"""The front for clients of 5.x: connections, calls, and what each call is among the broker's requests.

Modules that import protobuf or HTTP/2 are imported with the first such connection (`front`): they cost memory and time.
"""
