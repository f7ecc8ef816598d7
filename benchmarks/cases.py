"""The streams that every decoder gets, and the events that are in them.

What is expected comes from the payloads that a stream is built of, never from a parser. Seeds are
fixed, so two runs, and two machines, time the same bytes.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

Pair = tuple[str, str]
"""The type and the data of one event."""

_SEED = 20260101
_CHAT_EVENTS = 2000

# One TCP segment on Ethernet: 1,500 bytes less the IPv4 and TCP headers. It is no multiple of
# anything here, so cuts fall inside lines, characters and CRLF pairs.
_SEGMENT = 1460

_WORDS = (
    *("the", "of", "and", "to", "in", "is", "that", "it", "for", "was", "with", "as", "on", "be"),
    *("this", "have", "from", "one", "not", "but", "what", "all", "were", "when", "there", "can"),
    *("which", "their", "about", "parser", "stream", "boundary", "asynchronous", "reconnection"),
    *("1", "42", "\n", "\n\n", ",", ".", ":", "```", '"', "{"),
)

# No payload of lines may hold a line break of its own.
_PLAIN_WORDS = tuple(word for word in _WORDS if not word.isspace())

_CJK = "流式传输的数据在任意字节边界被切开解码器必须正确处理多字节字符日本語のテキストも同じです"
_SYMBOLS = "😀🚀🧪é–ñ“”ß"


@dataclass(frozen=True, slots=True)
class Stream:
    """The reads of one stream, and what a correct decoder makes of them."""

    chunks: list[bytes]
    expected: list[Pair]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    Attributes:
        name: What `--case` takes.
        title: What the table says.
        unit: What the absolute figure is given for: an event, or a read where an event takes many.
        build: Makes the stream; the same one each time.
    """

    name: str
    title: str
    unit: Literal["event", "read"]
    build: Callable[[Random], Stream]

    def stream(self) -> Stream:
        """Build the stream of this case."""
        return self.build(Random(_SEED))


def _dumps(value: object, *, ascii_only: bool = True) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))


def _cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def _chat_payloads(rng: Random, count: int, text: Callable[[Random], str]) -> list[str]:
    """A chat completion as it is streamed: about 300 bytes a chunk, then the `[DONE]` marker."""
    payloads = [
        _dumps(
            {
                "id": "chatcmpl-9aBcDeFgHiJkLmNoPqRsTuVwXyZ",
                "object": "chat.completion.chunk",
                "created": 1790000001,
                "model": "gpt-x-mini-2026-07-01",
                "service_tier": "default",
                "system_fingerprint": "fp_44709d6fcb",
                "choices": [
                    {
                        "index": 0,
                        "delta": {"content": text(rng)},
                        "logprobs": None,
                        "finish_reason": None,
                    }
                ],
                "usage": None,
            },
            ascii_only=False,
        )
        for _ in range(count - 1)
    ]
    return [*payloads, "[DONE]"]


def _word(rng: Random) -> str:
    return " " + rng.choice(_WORDS)


def _multibyte_text(rng: Random) -> str:
    return "".join(rng.choices(_CJK, k=24)) + rng.choice(_SYMBOLS)


def _unnamed(payloads: list[str], ending: str = "\n") -> list[bytes]:
    return [f"data: {payload}{ending}{ending}".encode() for payload in payloads]


def _chat(count: int, size: int | None) -> Callable[[Random], Stream]:
    """Chat chunks in reads of `size` bytes, or one chunk a read."""

    def build(rng: Random) -> Stream:
        payloads = _chat_payloads(rng, count, _word)
        frames = _unnamed(payloads)
        chunks = frames if size is None else _cut(b"".join(frames), size)
        return Stream(chunks, [("message", payload) for payload in payloads])

    return build


def chat_payloads() -> list[str]:
    """The payloads of the first case that are JSON, for the comparison with `json.loads`."""
    return _chat_payloads(Random(_SEED), _CHAT_EVENTS, _word)[:-1]


def _crlf(rng: Random) -> Stream:
    payloads = _chat_payloads(rng, _CHAT_EVENTS, _word)
    chunks = _cut(b"".join(_unnamed(payloads, "\r\n")), _SEGMENT)
    return Stream(chunks, [("message", payload) for payload in payloads])


def _multibyte(rng: Random) -> Stream:
    payloads = _chat_payloads(rng, _CHAT_EVENTS, _multibyte_text)
    chunks = _cut(b"".join(_unnamed(payloads)), _SEGMENT)
    return Stream(chunks, [("message", payload) for payload in payloads])


def _text_delta(text: str) -> dict[str, object]:
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _message_events(rng: Random, count: int) -> list[Pair]:
    """A message as it is streamed with named events: a few that frame it, then text deltas."""
    start: dict[str, object] = {
        "id": "msg_01ABCDEFGHJKMNPQRSTVWXYZ",
        "type": "message",
        "role": "assistant",
        "model": "c-large-2026-05-14",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 2095, "output_tokens": 1},
    }
    delta_count = count - 6
    payloads: list[dict[str, object]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(_text_delta("".join(_word(rng) for _ in range(6))) for _ in range(delta_count)),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": count},
        },
        {"type": "message_stop"},
    ]
    return [(str(payload["type"]), _dumps(payload)) for payload in payloads]


def _named(size: int | None) -> Callable[[Random], Stream]:
    """Named events in reads of `size` bytes, or one event a read."""

    def build(rng: Random) -> Stream:
        expected = _message_events(rng, 2000)
        frames = [f"event: {name}\ndata: {data}\n\n".encode() for name, data in expected]
        return Stream(frames if size is None else _cut(b"".join(frames), size), expected)

    return build


def _mixed(rng: Random) -> Stream:
    """A resumable notification stream: every block is a read of its own.

    It opens with a reconnection time alone, as many servers do; each event has an id; every tenth
    repeats the reconnection time; after every fourth comes a comment that keeps the connection up.
    """
    chunks = [b"retry: 3000\n\n"]
    expected: list[Pair] = []
    for number in range(1600):
        method = rng.choice(("notifications/progress", "notifications/message", "tools/result"))
        text = "".join(_word(rng) for _ in range(10))
        data = _dumps({"jsonrpc": "2.0", "method": method, "params": {"n": number, "text": text}})
        name = rng.choice(("message", "progress"))
        event_line = "" if name == "message" else f"event: {name}\n"
        retry_line = "retry: 3000\n" if number % 10 == 0 else ""
        block = f"id: 01hq-{number}\n{event_line}{retry_line}data: {data}\n\n"
        chunks.append(block.encode())
        expected.append((name, data))
        if number % 4 == 3:
            chunks.append(b": ping - 2026-01-01 12:00:00.000000+00:00\n\n")
    return Stream(chunks, expected)


def _large_event(rng: Random) -> Stream:
    """One image, as base64 in JSON on a single line."""
    image = base64.b64encode(rng.randbytes(6 * 1024 * 1024)).decode()
    data = _dumps({"type": "image_generation.completed", "b64_json": image})
    return Stream(_cut(f"data: {data}\n\n".encode(), 4096), [("message", data)])


def _many_lines(rng: Random) -> Stream:
    """Documents of 500 lines of 80 characters, each line a field of its own."""
    expected: list[Pair] = []
    blocks: list[str] = []
    for _ in range(20):
        lines = [" ".join(rng.choices(_PLAIN_WORDS, k=40))[:80] for _ in range(500)]
        expected.append(("message", "\n".join(lines)))
        blocks.append("".join(f"data: {line}\n" for line in lines) + "\n")
    return Stream(_cut("".join(blocks).encode(), 4096), expected)


def _heartbeats(_rng: Random) -> Stream:
    return Stream([b": keep-alive\n\n"] * 5000, [])


CASES = (
    Case("chat-event", "chat chunk of 300 bytes a read", "event", _chat(_CHAT_EVENTS, None)),
    Case("chat-64k", "chat, 64 KiB reads", "event", _chat(_CHAT_EVENTS, 65536)),
    Case("chat-1460", "chat, 1,460-byte reads", "event", _chat(_CHAT_EVENTS, _SEGMENT)),
    Case("chat-16", "chat, 16-byte reads", "read", _chat(400, 16)),
    Case("chat-1", "chat, 1-byte reads", "read", _chat(60, 1)),
    Case("named-event", "named event a read", "event", _named(None)),
    Case("named-64k", "named events, 64 KiB reads", "event", _named(65536)),
    Case("crlf", "chat with CRLF, 1,460-byte reads", "event", _crlf),
    Case("multibyte", "multi-byte text, 1,460-byte reads", "event", _multibyte),
    Case("mixed", "ids, retries, comments: a block a read", "event", _mixed),
    Case("large-event", "one 8 MiB event, 4 KiB reads", "event", _large_event),
    Case("many-lines", "500 data lines an event, 4 KiB reads", "event", _many_lines),
    Case("heartbeats", "heartbeats only, one a read", "read", _heartbeats),
)
"""Every case of the table, in its order."""
