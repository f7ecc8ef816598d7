"""Exit statuses."""

from __future__ import annotations

__all__ = ["BROKEN_PIPE", "FAILED", "INCOMPLETE", "INTERRUPTED", "LOSSES"]

# `inspect`: something is lost or damaged. `assemble`: there is no complete answer.
LOSSES = INCOMPLETE = 1

# What argparse exits with, too.
FAILED = 2

# 128 and the number of the signal (SIGINT, SIGPIPE): what shells report for a program that one
# ended.
INTERRUPTED = 130
BROKEN_PIPE = 141
