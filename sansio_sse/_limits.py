"""The default limits. Each bounds what a hostile peer can make us hold."""

from __future__ import annotations

from typing import Final

__all__ = [
    "DEFAULT_MAX_EVENT_BYTES",
    "MAX_DELAY_SECONDS",
    "MAX_ERROR_BODY_BYTES",
    "MAX_ERROR_BODY_SECONDS",
    "MAX_ID_HEADER_BYTES",
    "MAX_RETRY_DIGITS",
]

DEFAULT_MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""64 MiB. Generous on purpose: tool results and images in base64 of more than 1 MiB are legal and
common, and a client with a limit of 1 MiB fails on them each time that it resumes."""

MAX_RETRY_DIGITS: Final = 300
"""Digits of a reconnection time that are read or written. One with more makes a number that no
float holds, so that `milliseconds / 1000` raises; one with over 4,300 makes `int` raise."""

MAX_DELAY_SECONDS: Final = (2**31 - 1) / 1000
"""24.8 days: the longest that a server can make us wait, by `retry` or by `Retry-After`. The
specification sets no limit; timers do: browsers clamp to this, and a lock or a socket of Python
raises `OverflowError` for much more."""

MAX_ID_HEADER_BYTES: Final = 8 * 1024
"""A longer last event ID is not sent back. A server can set one of `max_event_bytes`, and most
servers refuse a head of more than 8 to 64 KiB, so that each attempt would fail."""

MAX_ERROR_BODY_BYTES: Final = 64 * 1024
"""How much of the body of a refused response is kept, for whoever looks for the reason."""

MAX_ERROR_BODY_SECONDS: Final = 5.0
"""How long that body is waited for, so that a server that stalls there can't hide its status."""
