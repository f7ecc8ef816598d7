"""Errors of providers, in all the shapes that they come in."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .._response import RETRYABLE_STATUSES
from ._errors import ProviderError
from ._json import as_int, as_object, as_objects, as_text, dump, load

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find_error", "read_error", "read_error_body"]

_MAX_MESSAGE_CHARACTERS = 1_000

# What a provider calls an error, and the status that it documents for it.
_STATUSES = MappingProxyType(
    {
        # Anthropic, "Errors".
        "invalid_request_error": 400,
        "authentication_error": 401,
        "billing_error": 402,
        "permission_error": 403,
        "not_found_error": 404,
        "request_too_large": 413,
        "rate_limit_error": 429,
        "api_error": 500,
        "timeout_error": 504,
        "overloaded_error": 529,
        # OpenAI, "Error codes", and the codes of `ResponseError`.
        "invalid_prompt": 400,
        "rate_limit_exceeded": 429,
        "insufficient_quota": 429,
        "server_error": 500,
        "vector_store_timeout": 504,
        # google.rpc.Code.
        "INVALID_ARGUMENT": 400,
        "FAILED_PRECONDITION": 400,
        "UNAUTHENTICATED": 401,
        "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404,
        "RESOURCE_EXHAUSTED": 429,
        "INTERNAL": 500,
        "UNAVAILABLE": 503,
        "DEADLINE_EXCEEDED": 504,
    }
)

# Anthropic's overload.
_RETRYABLE = RETRYABLE_STATUSES | {529}

# Too many requests in a way that waiting does not mend.
_LASTING = frozenset({"insufficient_quota", "billing_error"})

# A payload that has one of these is one of a dialect, not `{"detail": …}` of a web framework.
_DIALECTS = frozenset({"choices", "candidates", "type", "object"})


def find_error(payload: dict[str, Any], event_type: str) -> ProviderError | None:
    """Return the error that a payload reports, if it does.

    Args:
        payload: The data of an event.
        event_type: The type of the event: `error` says that it is one, whatever the data is.
    """
    error = payload.get("error")
    if error:
        # Some say only that it is one, and what it is beside that.
        return read_error(payload if error is True else error)
    if "response.failed" in (payload.get("type"), event_type):
        response = as_object(payload.get("response"))
        return read_error(response.get("error") or "the response failed", code="failed")
    if event_type == "error" or "error" in (payload.get("type"), payload.get("object")):
        return read_error(payload)
    if payload.get("detail") and not _DIALECTS & payload.keys():
        return read_error(payload)
    return None


def read_error(
    error: Any, *, code: str = "provider_error", status: int | None = None
) -> ProviderError:
    """Return the error that an object or a text describes.

    Args:
        error: What the provider sent.
        code: The stable code.
        status: The HTTP status that it came with, if that says something.
    """
    fields = as_object(error)
    kind, own_code = fields.get("type"), fields.get("code")
    words = [word for word in (own_code, fields.get("status"), kind) if isinstance(word, str)]
    numbers = [as_int(fields.get(name)) for name in ("status", "status_code", "code")]
    numbers += [int(word) for word in words if word.isascii() and word.isdigit() and len(word) == 3]
    numbers += [_STATUSES.get(word) for word in words]
    known = [number for number in (status, *numbers) if number and 400 <= number <= 599]
    status = known[0] if known else None
    message = next(
        (text for name in ("message", "detail", "msg") if (text := as_text(fields.get(name)))),
        error if isinstance(error, str) else dump(error),
    )
    # "error" is what makes it an error, and says nothing of its kind.
    kinds = [word for word in (kind, fields.get("status")) if isinstance(word, str)]
    return ProviderError(
        message[:_MAX_MESSAGE_CHARACTERS],
        code,
        type=next((word for word in kinds if word != "error"), None),
        provider_code=own_code if isinstance(own_code, (str, int)) else None,
        status=status,
        retryable=status in _RETRYABLE and not _LASTING.intersection(words),
        raw=error,
    )


def read_error_body(
    body: str | bytes, *, status: int | None = None, loads: Callable[[str], Any] = json.loads
) -> ProviderError:
    """Return the error for the body of a response that is no event stream: JSON, HTML or text.

    For an answer that the adapters refuse (`UnexpectedStatus`, `UnexpectedContentType`), for
    instance. Its code is "not_event_stream"; type, message and the rest are what the body says.

    Args:
        body: The beginning of the body, or all of it.
        status: The HTTP status that it came with, if that is an error.
        loads: What parses it.
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    try:
        value = load(text, loads)
    except Exception:
        # Each parser has errors of its own, and it may be HTML.
        value = None
    # Google's servers put it in an array.
    first = next(iter(as_objects(value)), None) or as_object(value)
    found = find_error(first, "error") if first else None
    if found is not None:
        error = read_error(found.raw, code="not_event_stream", status=status)
    else:
        error = read_error(text.strip(), code="not_event_stream", status=status)
    error.raw = text
    return error
