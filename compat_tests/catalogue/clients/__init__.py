"""The clients that scenarios run with: an adapter for each, in a folder with its program's sources.

`registry` lists them. An adapter starts a process that runs programs one after another: a line `Program?query` on its
standard input, JSON lines of events on its standard output, `{"event": "done"}` after each. The Java one of
java/sources/common/Runner.java is the model.
"""
