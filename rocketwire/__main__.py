"""`python -m rocketwire` is the same program as the `rocketwire` script."""

import sys

from rocketwire.cli import main

if __name__ == "__main__":
    sys.exit(main())
