"""`assemble`: one JSON object, whatever the stream is."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import EventStreamParser
from sansio_sse._cli import main
from sansio_sse._cli._assemble import assemble
from sansio_sse._cli._source import SourceError
from sansio_sse._cli._terminal import Terminal
from sansio_sse.llm import AnyAssembler, AssemblyError, assemble_chunks

from .streams import DONE, block, chunk, delta, messages, tool
from .test_main import environment, feed_stdin

if TYPE_CHECKING:
    from collections.abc import Sequence

CAPTURES = sorted((Path(__file__).parents[1] / "captures").glob("*.sse"))

HELLO = chunk(delta(content="Hello"))
STOP = chunk(delta("stop"))
CALL = chunk(delta(tool_calls=[tool('{"amount": 10')]))


class Wire:
    """A source that delivers these reads; an exception as the read raises it."""

    def __init__(self, *reads: bytes | BaseException) -> None:
        self._reads = list(reads)
        self.output = io.StringIO()

    def read1(self, size: int, /) -> bytes:
        read = self._reads.pop(0)
        if isinstance(read, BaseException):
            raise read
        assert len(read) <= size
        return read

    def assemble(self, *, limit: int = 1000) -> int:
        parser = EventStreamParser(max_event_bytes=limit)
        return assemble(self, self.output, Terminal(80), parser, AnyAssembler())

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.output.getvalue())
        return document


def run(
    monkeypatch: pytest.MonkeyPatch, stream: bytes, *options: str
) -> tuple[int, dict[str, Any]]:
    feed_stdin(monkeypatch, stream)
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    status = main(["assemble", *options, "-"])
    document: dict[str, Any] = json.loads(output.getvalue(), parse_constant=pytest.fail)
    return status, document


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_a_capture_is_what_the_library_makes_of_it(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["assemble", str(path)])
    document = json.loads(capsys.readouterr().out)
    try:
        completion = assemble_chunks([path.read_bytes()])
    except AssemblyError as error:
        assert error.partial is not None
        completion = error.partial
        assert (status, document["complete"]) == (1, False)
        assert document["error"]["code"] == error.code
    else:
        assert (status, document["complete"], document["error"]) == (0, True, None)
    assert document["text"] == completion.text
    assert document["reasoning"] == completion.reasoning
    assert [call["arguments"] for call in document["tool_calls"]] == [
        call.arguments for call in completion.tool_calls
    ]
    assert document["message"] == completion.message
    assert len(document["findings"]) == len(completion.findings)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_a_capture_that_is_cut_off_is_never_complete_before_its_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = path.read_bytes()
    chance = random.Random(len(data))
    whole = run(monkeypatch, data)[1]
    for cut in sorted(chance.sample(range(len(data)), 40)):
        status, document = run(monkeypatch, data[:cut])
        assert status == (0 if document["complete"] else 1)
        if document["complete"]:
            # Only what says nothing of the answer was lost.
            assert document["tool_calls"] == whole["tool_calls"]
            assert document["text"] == whole["text"]
        else:
            assert document["error"] is not None
            assert [call["parsed"] for call in document["tool_calls"] if call["parsed"]] == []


@pytest.mark.parametrize(
    ("stream", "code", "event", "dialect"),
    [
        (b"", "empty_stream", None, None),
        (DONE, "empty_stream", None, None),
        (b"<html><h1>502 Bad Gateway</h1></html>", "not_event_stream", None, None),
        (b"\0\xff\x1b[2J", "empty_stream", None, None),
        (HELLO, "missing_finish_reason", None, "chat"),
        (HELLO + b"data: {", "truncated", None, "chat"),
        (HELLO + block("{"), "invalid_json", 2, "chat"),
        (HELLO + block({"error": {"message": "no"}}), "provider_error", 2, "chat"),
        (block({"n": 1}), "unknown_dialect", None, None),
        (block({"n": 1}) * 200, "unknown_dialect", 101, None),
        (HELLO + chunk(*[delta("stop", n) for n in range(200)]), "limit_exceeded", 2, "chat"),
    ],
)
def test_an_error_says_what_and_where_and_what_arrived(
    stream: bytes,
    code: str,
    event: int | None,
    dialect: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status, document = run(monkeypatch, stream)
    assert (status, document["complete"]) == (1, False)
    assert (document["error"]["code"], document["error"]["event"]) == (code, event)
    assert document["error"]["message"]
    assert document["dialect"] == dialect
    assert document["text"] == ("Hello" if dialect else "")


def test_an_error_body_without_a_line_end_is_that_error(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'
    status, document = run(monkeypatch, body)
    assert status == 1
    assert document["error"] == {
        "code": "not_event_stream",
        "message": "slow down",
        "event": None,
        "type": "rate_limit_error",
        "provider_code": None,
        "status": 429,
        "retryable": True,
    }


@pytest.mark.parametrize("end", [b"", b"data: ", block("{"), block({"error": "x"})])
def test_a_call_of_a_broken_answer_is_not_parsed(
    end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = chunk(delta(tool_calls=[tool("}", id="c0")]))
    status, document = run(monkeypatch, CALL + whole + end)
    assert status == 1
    [call] = document["tool_calls"]
    assert (call["arguments"], call["parsed"], call["complete"]) == ('{"amount": 10}', None, False)
    assert call["problem"]["code"] == document["error"]["code"]


@pytest.mark.parametrize("reason", ["length", "content_filter", "strange"])
def test_an_answer_that_something_else_ended_is_status_1_without_an_error(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, document = run(monkeypatch, HELLO + chunk(delta(reason)) + DONE)
    assert (status, document["complete"], document["error"]) == (1, False, None)
    assert (document["text"], document["finish_reason"]) == ("Hello", reason)


def test_what_is_tolerated_is_listed_and_strictly_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    stream = chunk(delta("tool_calls", tool_calls=[call])) + DONE
    status, document = run(monkeypatch, stream)
    assert (status, document["findings"][0]["code"]) == (0, "tool_index_missing")
    status, document = run(monkeypatch, stream, "--strict")
    assert (status, document["error"]["code"]) == (1, "tool_index_missing")


def test_a_dialect_that_is_told_is_the_one_that_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    stream = messages(stop)
    assert run(monkeypatch, stream)[0] == 0
    status, document = run(monkeypatch, stream, "--dialect", "messages", "--strict")
    assert (document["dialect"], document["id"]) == ("messages", "m")
    status, document = run(monkeypatch, stream, "--dialect", "chat")
    assert (status, document["dialect"]) == (1, "chat")
    assert document["error"]["code"] == "missing_finish_reason"


def test_invalid_utf8_is_a_finding_and_strictly_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = HELLO.replace(b"Hello", b"Hel\xfflo") + STOP + DONE
    status, document = run(monkeypatch, stream)
    assert (status, document["text"]) == (0, "Hel\ufffdlo")
    [finding] = document["findings"]
    assert finding["code"] == "invalid_utf8"
    assert f"at bytes {stream.index(255)}" in finding["message"]
    status, document = run(monkeypatch, HELLO + stream, "--strict")
    assert (status, document["error"]["code"], document["error"]["event"]) == (1, "invalid_utf8", 2)
    assert document["text"] == "Hello"


def test_a_stream_that_ends_within_a_character_is_truncated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(monkeypatch, HELLO + b"data: \xf0\x9f")[1]["error"]["code"] == "truncated"
    status, document = run(monkeypatch, HELLO + b"data: \xf0\x9f", "--strict")
    assert (status, document["complete"]) == (1, False)


def test_nothing_is_read_behind_the_end_that_the_stream_marks() -> None:
    wire = Wire(HELLO, STOP + DONE)
    assert wire.assemble() == 0
    assert wire.document["text"] == "Hello"


def test_nothing_is_read_behind_an_error_of_the_provider() -> None:
    wire = Wire(HELLO, block({"error": {"message": "no"}}))
    assert wire.assemble() == 1


def test_an_interrupt_gives_what_arrived_and_status_130() -> None:
    wire = Wire(HELLO + CALL, KeyboardInterrupt())
    assert wire.assemble() == 130
    document = wire.document
    assert (document["text"], document["complete"]) == ("Hello", False)
    assert document["error"]["code"] == "interrupted"
    assert [call["complete"] for call in document["tool_calls"]] == [False]


def test_an_interrupt_before_the_first_byte_gives_an_empty_answer() -> None:
    wire = Wire(KeyboardInterrupt())
    assert wire.assemble() == 130
    assert (wire.document["dialect"], wire.document["text"]) == (None, "")


def test_a_block_too_large_ends_the_reading_at_once() -> None:
    wire = Wire(HELLO, *[b"data: " + b"x" * 500] * 2)
    assert wire.assemble(limit=1000) == 1
    error = {"code": "event_too_large", "event": 2}
    assert error.items() < wire.document["error"].items()
    assert wire.document["text"] == "Hello"


def test_an_answer_that_was_whole_is_not_complete_behind_a_block_too_large() -> None:
    whole = CALL + chunk(delta("tool_calls", tool_calls=[tool("}", id="c0")]))
    wire = Wire(whole, b"data: " + b"x" * 2000)
    assert wire.assemble(limit=1000) == 1
    assert (wire.document["complete"], wire.document["ending"]) == (False, "tool_calls")
    assert [call["parsed"] for call in wire.document["tool_calls"]] == [None]


def test_a_source_that_fails_is_unreadable() -> None:
    wire = Wire(HELLO, OSError(5, "Input/output error"))
    with pytest.raises(SourceError, match=r"^Input/output error$"):
        wire.assemble()
    assert wire.output.getvalue() == ""


@pytest.mark.parametrize("options", [[], ["--strict"]])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_any_bytes_give_one_object_in_any_encoding(
    encoding: str, options: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    streams = [chance.randbytes(chance.randrange(2000)) for _ in range(50)]
    for path in CAPTURES:
        data = path.read_bytes()
        streams.append(data)
        for _ in range(5):
            place = chance.randrange(len(data))
            streams.append(data[:place] + chance.randbytes(2) + data[place:])
    streams.append(chunk(delta("stop", content="\x1b[2J\x9b1m\u202e\ud83d")))
    streams.append(block('{"choices": [], "usage": {"a": NaN, "b": 1e999}}') + HELLO + STOP)
    for stream in streams:
        feed_stdin(monkeypatch, stream)
        output = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
        monkeypatch.setattr(sys, "stdout", output)
        status = main(["assemble", *options, "-"])
        output.flush()
        output.seek(0)
        text = output.read()
        assert all(line.isprintable() for line in text.split("\n"))
        document = json.loads(text, parse_constant=pytest.fail)
        assert status == (0 if document["complete"] else 1)


@pytest.mark.parametrize("command", ["inspect", "assemble"])
@pytest.mark.parametrize("depth", [500, 990, 3000])
def test_payloads_that_are_nested_deep_stop_nothing(
    depth: int, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = "[" * depth + "]" * depth
    stream = HELLO + block(f'{{"choices": [{{"delta": {{"new": {deep}}}}}]}}') + STOP
    feed_stdin(monkeypatch, stream)
    assert main([command, "-"]) in (0, 1)
    assert capsys.readouterr().out


def test_a_live_stream_ends_where_it_says_so() -> None:
    command = [sys.executable, "-m", "sansio_sse", "assemble", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for part in (HELLO, STOP, DONE):
            process.stdin.write(part)
            process.stdin.flush()
        # The input is still open.
        assert json.loads(process.stdout.read())["text"] == "Hello"
        assert process.wait() == 0


def test_an_ascii_terminal_gets_ascii() -> None:
    path = next(path for path in CAPTURES if path.name.startswith("04_"))
    command = [sys.executable, "-m", "sansio_sse", "assemble", str(path)]
    variables = environment(PYTHONIOENCODING="ascii")
    done = subprocess.run(command, capture_output=True, env=variables, check=True)
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["tool_calls"][0]["parsed"]["city"] == "北京"
