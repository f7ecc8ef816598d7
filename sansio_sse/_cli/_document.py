"""An answer as JSON: what `assemble` prints; `inspect` says of errors the same."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from ..llm import AssemblyError, ProviderError

if TYPE_CHECKING:
    from ..llm import Choice, Completion, Finding, ToolCall, Usage

__all__ = ["document", "error_fields", "pretty"]

# Deeper values are left out: Python's own limit, which the encoder must not reach, is of several
# hundred calls.
_MAX_DEPTH = 100


def document(
    dialect: str | None,
    completion: Completion,
    error: AssemblyError | Finding | None,
    findings: list[Finding],
) -> dict[str, Any]:
    """Return all that there is to say about an answer.

    Args:
        dialect: Its name; None if it is not known.
        completion: The answer, or what arrived of it.
        error: Why there is none.
        findings: More of them than those of the answer.
    """
    first, others = completion.choices[:1], completion.choices[1:]
    if first and first[0].index != 0:
        first, others = (), completion.choices
    return {
        "dialect": dialect,
        "complete": completion.complete,
        "error": error and error_fields(error),
        "id": completion.id,
        "model": completion.model,
        **(_choice(first[0]) if first else _NO_CHOICE),
        "usage": completion.usage and _usage(completion.usage),
        "findings": [finding._asdict() for finding in (*completion.findings, *findings)],
        "other_choices": [{"index": choice.index, **_choice(choice)} for choice in others],
    }


def error_fields(error: AssemblyError | Finding) -> dict[str, Any]:
    """Return what there is to say about an error."""
    fields = {"code": error.code, "message": error.message, "event": error.event}
    if isinstance(error, ProviderError):
        fields |= {
            "type": error.type,
            "provider_code": error.provider_code,
            "status": error.status,
            "retryable": error.retryable,
        }
    return fields


def pretty(value: dict[str, Any]) -> str:
    """Return indented JSON, of which no character is escaped that need not be.

    What is nested too deep is left out, and a number that is not finite is a string: JSON has none.
    """
    return json.dumps(_plain(value, _MAX_DEPTH), ensure_ascii=False, indent=2) + "\n"


_NO_CHOICE: dict[str, Any] = {
    "text": "",
    "reasoning": "",
    "refusal": "",
    "tool_calls": [],
    "finish_reason": None,
    "ending": None,
    "message": None,
}


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "text": choice.text,
        "reasoning": choice.reasoning,
        "refusal": choice.refusal,
        "tool_calls": [_call(call) for call in choice.tool_calls],
        "finish_reason": choice.finish_reason,
        "ending": choice.ending,
        "message": choice.message,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "index": call.index,
        "id": call.id,
        "kind": call.kind,
        "name": call.name,
        "arguments": call.arguments,
        "parsed": call.parse() if call.complete else None,
        "complete": call.complete,
        "problem": call.problem and call.problem._asdict(),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {**usage._asdict(), "raw": dict(usage.raw)}


def _plain(value: object, depth: int) -> object:
    match value:
        case dict() | list() if not depth:
            return "nested too deep"
        case dict():
            members = cast("dict[str, object]", value)
            return {name: _plain(member, depth - 1) for name, member in members.items()}
        case list():
            return [_plain(item, depth - 1) for item in cast("list[object]", value)]
        case float() if not isfinite(value):
            return json.dumps(value)
        case _:
            return value
