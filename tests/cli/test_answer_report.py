"""What `inspect` says of an answer, as people read it."""

from __future__ import annotations

from typing import Any

import pytest

from .streams import DONE, block, chunk, delta, messages, tool
from .test_table import report_of, width

HELLO = chunk(delta(content="Hello"))
STOP = chunk(delta("stop"))
DIALECT = "  dialect              chat (OpenAI Chat Completions)"


def answer_of(stream: bytes, columns: int = 80, *, interrupted: bool = False) -> list[str]:
    """The lines from the dialect on."""
    lines = report_of(stream, columns, interrupted=interrupted)
    [start] = [number for number, line in enumerate(lines) if line.startswith("  dialect")]
    return lines[start:]


def test_a_good_answer_is_told_in_a_few_lines() -> None:
    stream = chunk(delta(tool_calls=[tool("{}"), tool("{}", 1)])) + chunk(delta("tool_calls"))
    assert answer_of(stream + chunk(usage={"total_tokens": 5}) + DONE) == [
        DIALECT,
        "  answer               complete, 2 calls",
        "  finish reason        'tool_calls' in event 2",
        "  usage                event 3 (usage)",
        "  empty choices        event 3",
    ]


def test_all_that_is_odd_is_told() -> None:
    call: dict[str, Any] = {"function": {"name": "f", "arguments": "{}"}}
    stream = chunk(delta(role="assistant", content=""), usage={"total_tokens": 1})
    stream += chunk(delta(role="assistant", tool_calls=[call, call]), usage={"total_tokens": 2})
    stream += chunk(delta("stop", role="user"), usage={"total_tokens": 3})
    assert answer_of(stream + DONE + HELLO) == [
        DIALECT,
        "  answer               complete, 2 calls",
        "  finish reason        'stop' in event 3",
        "  usage                3 events, 1 to 3 (usage)",
        "  role repeated        events 2 and 3",
        "  departure            tool_index_missing: a fragment of a call has no index",
        "                       (event 2)",
        "  departure            role_changed: the role was 'assistant', now 'user' (event",
        "                       3)",
        "  departure            tool_id_missing: call 0 has no id (event 3)",
        '  departure            event_after_done: \'{"choices": [{"index": 0, "delta":',
        '                       {"content": "Hello"}, "finish_reason": null}]}\' behind',
        "                       the end (event 5)",
        "  departure            finish_mismatch: the finish reason is 'stop', and there",
        "                       are 2 calls",
    ]


def test_a_stream_of_no_dialect_has_no_lines_for_an_answer() -> None:
    assert report_of(block({"n": 1}))[1:] == [
        "1 event, 16 bytes",
        "  line endings         LF (2)",
        "  byte order mark      none",
        "  UTF-8                valid",
        "  [DONE]               did not come (some servers send none)",
    ]


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (
            HELLO,
            [
                "! answer               incomplete: the stream ended without a finish reason",
                "                       (missing_finish_reason)",
                "  finish reason        did not come",
                "  usage                did not come",
            ],
        ),
        (
            HELLO + chunk(delta(tool_calls=[tool('{"a'), tool("{}", 1)])),
            [
                "! answer               incomplete: the stream ended without a finish reason",
                "                       (missing_finish_reason)",
                "! invalid calls        2 of 2 must not be run: 'add' and 'add'",
                "  finish reason        did not come",
                "  usage                did not come",
            ],
        ),
        (
            HELLO + block({"error": {"message": "no", "type": "bad", "code": "x"}}),
            ["! provider error       event 2: no (type 'bad', code 'x', not retryable)"],
        ),
        (
            HELLO + block({"error": {"message": "slow", "type": "rate_limit_error", "code": 429}}),
            [
                "! provider error       event 2: slow (type 'rate_limit_error', status 429,",
                "                       retryable)",
            ],
        ),
        (
            HELLO + chunk(*[delta(None, n) for n in range(200)]),
            ["  answer               not judged: event 2: more than 128 choices"],
        ),
        (
            chunk(delta("tool_calls", tool_calls=[tool("{"), tool("{}", 1)])),
            [
                "  answer               not complete",
                "! invalid calls        1 of 2 must not be run: 'add' (Expecting property name",
                "                       enclosed in double quotes: line 1 column 2 (char 1))",
                "  finish reason        'tool_calls' in event 1",
                "  usage                did not come",
            ],
        ),
        (
            HELLO + chunk(delta("length"), delta("strange", 1), delta("max_tokens", 2)),
            [
                "  answer               not complete: ended by a limit of its length and a reason",
                "                       that is not known here",
                "  finish reason        'length' in event 2, 'strange' in event 2 and",
                "                       'max_tokens' in event 2",
                "  usage                did not come",
                "  departure            finish_reason_unknown: choice 1 ended with 'strange'",
            ],
        ),
        (
            HELLO + chunk(delta("error")),
            [
                "! answer               not complete: ended by an error",
                "  finish reason        'error' in event 2",
                "  usage                did not come",
                "  departure            finish_reason_unknown: choice 0 ended with 'error'",
            ],
        ),
        (
            chunk(delta("tool_calls")),
            [
                "! answer               damaged: something of it came, or was announced, and",
                "                       can't be read",
                "  finish reason        'tool_calls' in event 1",
                "  usage                did not come",
                "  departure            finish_mismatch: the finish reason is 'tool_calls', and",
                "                       there are 0 calls",
            ],
        ),
    ],
)
def test_what_became_of_an_answer_is_told_first(stream: bytes, lines: list[str]) -> None:
    assert answer_of(stream) == [DIALECT, *lines]


def test_data_that_cannot_be_read_is_told_where_it_is() -> None:
    lines = answer_of(HELLO + block("{") + STOP)
    assert lines[1].startswith("! answer               can't be read: event 2: data is not JSON")
    assert lines[-1].endswith("(invalid_json)")


def test_an_error_outside_of_the_events_has_no_number() -> None:
    lines = report_of(b'error: {"message": "no"}\n\n')
    assert lines[-1] == "! provider error       no (not retryable)"


def test_usage_in_every_event_is_told() -> None:
    stream = chunk(delta(), usage={"a": 1}) + chunk(delta("stop"), usage={"a": 2})
    assert "  usage                every event, 1 to 2 (usage)" in answer_of(stream)


def test_usage_in_several_places_is_told() -> None:
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"out": 2}}
    lines = answer_of(messages(stop))
    assert "  usage                event 1 (message.usage); event 3 (usage)" in lines


def test_an_interrupt_blames_nobody_for_the_end() -> None:
    assert answer_of(HELLO, interrupted=True) == [DIALECT]


def test_a_message_of_a_provider_is_shown_and_fits() -> None:
    text = "请求过多请稍后再试。"
    message = f"\x1b[2J {text}" * 30 + "\n\n\x9b1m"
    stream = HELLO + block({"error": {"message": message, "type": "很" * 300}})
    for columns in (60, 80, 100):
        lines = answer_of(stream, columns)
        assert all(line.isprintable() and width(line) <= columns for line in lines)
        assert text in "".join(line[23:] for line in lines)
        assert len(lines) < 20
