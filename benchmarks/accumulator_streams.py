"""What goes through the accumulators: streams, and what is right for each; the captures here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

_CAPTURES = Path(__file__).resolve().parents[1] / "tests" / "captures"

Json: TypeAlias = dict[str, Any]
"""An object."""


class Call(NamedTuple):
    """A call as its caller gets it.

    Attributes:
        id: Its id; empty where the provider sends none, and nothing is compared.
        name: The tool.
        arguments: The object that a caller gets to run it with; None if it gets none, for the
            arguments are no JSON or the call is marked as one that must not be run.
    """

    id: str
    name: str
    arguments: Json | None


class Answer(NamedTuple):
    """An answer as its caller gets it.

    Attributes:
        text: All of its text.
        calls: The calls.
        finish: The finish reason, stop reason, or reason of an incomplete response, as the provider
            spells it.
        role: Who speaks; not compared if None is expected.
        tokens: Tokens of the answer; not compared if None is expected.
    """

    text: str
    calls: tuple[Call, ...]
    finish: str | None
    role: str | None = None
    tokens: int | None = None


class Failure(NamedTuple):
    """An error that must be raised.

    Attributes:
        message: What its text must hold: the provider's own words. Empty if there are none.
    """

    message: str


class Stream(NamedTuple):
    """A stream, and what is right.

    Attributes:
        name: What the table calls it.
        dialect: "chat", "responses", "messages" or "contents".
        body: The bytes of the response.
        right: What an accumulator must return or raise. For some streams there are two ways.
        content_type: Of the response.
    """

    name: str
    dialect: str
    body: bytes
    right: tuple[Answer | Failure, ...]
    content_type: str = "text/event-stream"


def _captured_chat(result: Json) -> Answer:
    (choice,) = cast("list[Json]", result["choices"])
    message = choice["message"]
    calls = tuple(
        Call(call["id"], call["function"]["name"], call["arguments_value"])
        for call in message["tool_calls"]
    )
    usage = result["usage"]
    return Answer(
        message["content"] or "",
        calls,
        choice["finish_reason"],
        message["role"],
        usage and usage["completion_tokens"],
    )


def _captured_answer(protocol: str, result: Json) -> tuple[str, Answer]:
    match protocol:
        case "chat":
            return "chat", _captured_chat(result)
        case "responses":
            calls = tuple(
                Call(call["call_id"], call["name"], call["arguments_value"])
                for call in result["tool_calls"]
            )
            tokens = result["usage"]["output_tokens"]
            return "responses", Answer(
                result["output_text"], calls, result["status"], tokens=tokens
            )
        case "anthropic":
            blocks = cast("list[Json]", result["content"])
            calls = tuple(
                Call(block["id"], block["name"], block["input"])
                for block in blocks
                if block["type"] == "tool_use"
            )
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            tokens = result["usage"]["output_tokens"]
            return "messages", Answer(
                text, calls, result["stop_reason"], result["role"], tokens=tokens
            )
        case _:
            made = [part["function_call"] for part in result["parts"] if "function_call" in part]
            calls = tuple(Call("", call["name"], call["args"]) for call in made)
            return "contents", Answer(result["text"], calls, result["finish_reason"])


def captures() -> Iterator[Stream]:
    """Yield the captures of the tests, and what their files say of them."""
    for path in sorted(_CAPTURES.glob("*.sse")):
        expected: Json = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
        result = expected["result"]
        right: Answer | Failure
        if "error" in result:
            dialect, right = "chat", Failure(result["error"]["message"])
        else:
            dialect, right = _captured_answer(expected["protocol"], result)
        yield Stream(f"capture {path.stem}", dialect, path.read_bytes(), (right,))
