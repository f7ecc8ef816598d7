"""The default limits. Each bounds what a hostile peer can make us hold."""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT_MAX_EVENT_BYTES", "MAX_RETRY_DIGITS"]

DEFAULT_MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""64 MiB. Generous on purpose: tool results and images in base64 of more than 1 MiB are legal and
common, and a client with a limit of 1 MiB fails on them each time that it resumes."""

MAX_RETRY_DIGITS: Final = 300
"""Digits of a reconnection time that are read or written. One with more makes a number that no
float holds, so that `milliseconds / 1000` raises; one with over 4,300 makes `int` raise."""
