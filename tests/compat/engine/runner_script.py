"""A client for tests: it speaks the protocol of runners, and does what the program's name says."""

import json
import os
import sys
import time
from urllib.parse import parse_qs


def tell(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main() -> None:
    tell(event="ready")
    for line in sys.stdin:
        program, _, query = line.rstrip("\n").partition("?")
        arguments = parse_qs(query)
        sys.stderr.write(f"{program} runs\n")
        sys.stderr.flush()
        if program == "Echo":
            tell(event="echo", **{name: values[0] for name, values in arguments.items()})
        elif program == "Crash":
            tell(event="crashed", error="Exception", text="on purpose")
        elif program == "Hang":
            time.sleep(600)
        elif program == "Die":
            os.close(1)  # before it ends, as a client's machine may be slow to end
            time.sleep(0.3)
            os._exit(3)
        tell(event="done")


main()
