"""A client for tests: it speaks the protocol of runners, and does what the program's name means."""

import json
import os
import sys
import time
from urllib.parse import parse_qs


def print_event(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main() -> None:
    print_event(event="ready")
    for line in sys.stdin:
        program, _, query = line.rstrip("\n").partition("?")
        arguments = parse_qs(query)
        sys.stderr.write(f"{program} runs\n")
        sys.stderr.flush()
        if program == "Echo":
            print_event(event="echo", **{name: values[0] for name, values in arguments.items()})
        elif program == "Crash":
            print_event(event="crashed", error="Exception", text="on purpose")
        elif program == "Hang":
            time.sleep(600)
        elif program == "Die":
            os.close(1)  # before it ends, as a client's machine may be slow to end
            time.sleep(0.3)
            os._exit(3)
        print_event(event="done")


main()
