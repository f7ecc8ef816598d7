"""`python3 -m sansio_sse`: the command line."""

from __future__ import annotations

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main(prog=f"python3 -m {__package__}"))
