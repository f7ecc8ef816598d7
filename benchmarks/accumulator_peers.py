"""One driver for each accumulator: a response in, the answer that its caller gets out.

The SDKs make their requests as ever, on a transport that answers from memory: their own clients
decode the stream. They are imported by name at run time, as the decoders in `peers`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, cast

from sansio_sse.llm import (
    Assembler,
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    InvalidToolCall,
    MessagesAssembler,
    ResponsesAssembler,
    ToolCall,
    assemble_chunks,
)

from .accumulator_streams import Answer, Call, Stream

Driver = Callable[[Stream], Answer]

_ASSEMBLERS: Mapping[str, type[Assembler]] = {
    "chat": ChatCompletionsAssembler,
    "responses": ResponsesAssembler,
    "messages": MessagesAssembler,
    "contents": GenerateContentAssembler,
}
_HELLO = [{"role": "user", "content": "Hello"}]


@dataclass(frozen=True, slots=True)
class Peer:
    """An accumulator, or all of one package.

    Attributes:
        name: Its distribution.
        load: Imports it and returns a driver for each dialect that it reads; raises ImportError
            where it is not installed.
    """

    name: str
    load: Callable[[], dict[str, Driver]]

    def version(self) -> str:
        """Return the installed version, or an empty string."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return ""


def _value(arguments: Any) -> dict[str, Any] | None:
    """Return what a caller makes of arguments that are text; no text means that there are none."""
    try:
        value: object = json.loads(arguments or "{}")
    except (TypeError, ValueError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _parsed(call: ToolCall) -> Call:
    try:
        return Call(call.id, call.name, call.parse())
    except InvalidToolCall:
        return Call(call.id, call.name, None)


def _ours(stream: Stream) -> Answer:
    completion = assemble_chunks([stream.body], _ASSEMBLERS[stream.dialect]())
    message: Any = completion.message
    return Answer(
        completion.text,
        tuple(map(_parsed, completion.tool_calls)),
        completion.finish_reason,
        message["role"] if isinstance(message, dict) else None,
        completion.usage and completion.usage.output,
    )


def _transport(stream: Stream) -> Any:
    httpx2: Any = import_module("httpx2")

    def answer(_request: object) -> Any:
        headers = {"content-type": stream.content_type}
        return httpx2.Response(200, headers=headers, content=stream.body)

    return httpx2.MockTransport(answer)


def _client(class_: Callable[..., Any], stream: Stream) -> Any:
    httpx2: Any = import_module("httpx2")
    http_client = httpx2.Client(transport=_transport(stream))
    url = "http://localhost/v1"
    return class_(api_key="key", base_url=url, max_retries=0, http_client=http_client)


def _load_openai() -> dict[str, Driver]:
    openai: Any = import_module("openai")
    streaming: Any = import_module("openai.lib.streaming.chat")

    def chat(stream: Stream) -> Answer:
        client = _client(openai.OpenAI, stream)
        state = streaming.ChatCompletionStreamState()
        for chunk in client.chat.completions.create(model="m", messages=_HELLO, stream=True):
            state.handle_chunk(chunk)
        completion = state.get_final_completion()
        choice = completion.choices[0]
        calls = tuple(
            Call(call.id, call.function.name, _value(call.function.arguments))
            for call in choice.message.tool_calls or ()
        )
        usage = completion.usage
        return Answer(
            choice.message.content or "",
            calls,
            choice.finish_reason,
            choice.message.role,
            usage and usage.completion_tokens,
        )

    def responses(stream: Stream) -> Answer:
        client = _client(openai.OpenAI, stream)
        with client.responses.stream(model="m", input="Hello") as events:
            response = events.get_final_response()
        calls = tuple(
            Call(item.call_id, item.name, _value(item.arguments))
            for item in response.output
            if item.type == "function_call"
        )
        details = response.incomplete_details
        return Answer(
            response.output_text,
            calls,
            details.reason if details else response.status,
            tokens=response.usage and response.usage.output_tokens,
        )

    return {"chat": chat, "responses": responses}


def _load_anthropic() -> dict[str, Driver]:
    anthropic: Any = import_module("anthropic")

    def messages(stream: Stream) -> Answer:
        client = _client(anthropic.Anthropic, stream)
        with client.messages.stream(model="m", max_tokens=9, messages=_HELLO) as events:
            message = events.get_final_message()
        return Answer(
            "".join(block.text for block in message.content if block.type == "text"),
            tuple(
                Call(block.id, block.name, block.input)
                for block in message.content
                if block.type == "tool_use"
            ),
            message.stop_reason,
            message.role,
            message.usage.output_tokens,
        )

    return {"messages": messages}


def _load_google() -> dict[str, Driver]:
    genai: Any = import_module("google.genai")

    def contents(stream: Stream) -> Answer:
        # It has no accumulator: its chunks are put together here, in the plainest way.
        options = {"client_args": {"transport": _transport(stream)}}
        client = genai.Client(api_key="key", vertexai=False, http_options=options)
        text, finish = "", None
        calls: list[Call] = []
        for chunk in client.models.generate_content_stream(model="m", contents="Hello"):
            for candidate in chunk.candidates or ():
                finish = candidate.finish_reason or finish
                for part in (candidate.content and candidate.content.parts) or ():
                    if part.function_call:
                        call = part.function_call
                        calls.append(Call(call.id or "", call.name or "", call.args or {}))
                    elif part.text and not part.thought:
                        text += part.text
        return Answer(text, tuple(calls), finish and finish.value)

    return {"contents": contents}


OURS = Peer("sansio-sse", lambda: dict.fromkeys(_ASSEMBLERS, _ours))
PEERS = (
    Peer("openai", _load_openai),
    Peer("anthropic", _load_anthropic),
    Peer("google-genai", _load_google),
)
