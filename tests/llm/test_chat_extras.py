"""What comes beside the text in Chat Completions: usage, reasoning, audio, unknown fields."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import (
    ChatCompletionsAssembler,
    Finished,
    ReasoningDelta,
    ReasoningPart,
    TextDelta,
    TextPart,
    ToolCall,
    UsageUpdate,
)

from .streams import DONE, codes, event, failure, run
from .test_chat_quirks import (
    GET,
    Payload,
    accept,
    calling,
    choice,
    chunk,
    deltas,
    ends,
    refuse,
    says,
    tolerate,
    updates_of,
)

USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
OTHER = {"prompt_tokens": 30, "completion_tokens": 20, "total_tokens": 50}


@pytest.mark.parametrize(
    "last",
    [
        chunk(choice(finish="stop"), usage=USED),
        chunk(choice(finish="stop", usage=USED)),
        chunk(choice(finish="stop"), x_groq={"id": "req", "usage": USED}),
        chunk(choice(finish="stop", usage=USED), usage=None),
        chunk(choice(finish="stop", usage={}), usage=USED, x_groq={"id": "req"}),
    ],
    ids=["chunk", "choice", "x_groq", "choice-not-chunk", "chunk-not-choice"],
)
def test_usage_is_read_wherever_it_is(last: Any) -> None:
    items = [chunk(choice({"content": "a"}), x_groq={"id": "req"}), last, DONE]
    completion = accept(items)
    assert completion.usage is not None
    assert completion.usage.raw == USED
    assert completion.usage[:5] == (3, 2, 5, 0, 0)
    assert updates_of(items) == [
        TextDelta("a"),
        Finished("stop"),
        UsageUpdate(completion.usage),
    ]


def test_usage_of_the_chunk_comes_before_that_of_its_choice() -> None:
    items = [says("a"), chunk(choice(finish="stop", usage=USED), usage=OTHER), DONE]
    usage = accept(items).usage
    assert usage is not None
    assert usage.raw == OTHER


def test_usage_of_a_choice_comes_before_that_of_x_groq() -> None:
    last = chunk(choice(finish="stop", usage=OTHER), x_groq={"usage": USED})
    usage = run(ChatCompletionsAssembler(), [says("a"), last, DONE]).usage
    assert usage is not None
    assert usage.raw == OTHER


def test_usage_in_each_chunk_is_never_added_up() -> None:
    def used(total: int) -> Payload:
        return {"prompt_tokens": 3, "completion_tokens": total - 3, "total_tokens": total}

    items = [
        *(chunk(choice({"content": "a"}), usage=used(total)) for total in (4, 5, 5, 6)),
        chunk(choice(finish="stop"), usage=used(6)),
        chunk(usage=used(6)),
        DONE,
    ]
    usage = accept(items).usage
    assert usage is not None
    assert usage[:3] == (3, 3, 6)
    totals = [each.usage.total for each in updates_of(items) if isinstance(each, UsageUpdate)]
    assert totals == [4, 5, 6]


def test_usage_that_decreases_is_noted_and_the_last_one_counts() -> None:
    items = [chunk(choice({"content": "a"}), usage=OTHER), chunk(usage=USED), ends(), DONE]
    completion = accept(items, "usage_decreased")
    assert completion.usage is not None
    assert completion.usage.total == 5
    assert completion.findings[0].event == 2


@pytest.mark.parametrize("nothing", [None, {}, [], "", 0, "5", [USED], 7, True])
def test_usage_of_nothing_is_absent(nothing: Any) -> None:
    before = [chunk(choice({"content": "a"}), usage=nothing), ends()]
    assert accept([*before, DONE]).usage is None
    usage = accept([chunk(usage=USED), *before, chunk(usage=nothing), DONE]).usage
    assert usage is not None
    assert usage.raw == USED


@pytest.mark.parametrize(
    ("raw", "numbers"),
    [
        (
            {
                **USED,
                "prompt_tokens_details": {"cached_tokens": 1, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 2},
                "cost": 0.001,
            },
            (3, 2, 5, 1, 2),
        ),
        (
            {**USED, "prompt_cache_hit_tokens": 2, "prompt_cache_miss_tokens": 1},
            (3, 2, 5, 2, 0),
        ),
        ({**USED, "cached_tokens": 1, "num_sources_used": 4}, (3, 2, 5, 1, 0)),
        ({"prompt_tokens": 3, "completion_tokens": 2}, (3, 2, 5, 0, 0)),
        ({"input_tokens": 3, "output_tokens": 2}, (3, 2, 5, 0, 0)),
        (
            {"prompt_tokens": 307, "completion_tokens": 26, "total_tokens": 560},
            (307, 26, 560, 0, 0),
        ),
        ({"prompt_tokens": None, "completion_tokens": 2.0, "x": 1}, (0, 2, 2, 0, 0)),
        ({"prompt_tokens": True, "completion_tokens": "2", "total_tokens": -1}, (0, 0, 0, 0, 0)),
        ({"prompt_tokens_details": None, "completion_tokens_details": [], **USED}, (3, 2, 5, 0, 0)),
    ],
)
def test_usage_is_normalised_and_kept_as_it_came(raw: Payload, numbers: tuple[int, ...]) -> None:
    usage = accept([says("a"), ends(), chunk(usage=raw), DONE]).usage
    assert usage is not None
    assert usage[:5] == numbers
    assert usage.raw == raw


def test_usage_that_came_is_in_the_partial_answer() -> None:
    partial = failure(ChatCompletionsAssembler(), [chunk(usage=USED), says("a")]).partial
    assert partial is not None
    assert partial.usage is not None
    assert partial.usage.total == 5


def test_fields_of_groq_are_kept() -> None:
    items = [chunk(choice({"content": "a"}), x_groq={"id": "req"}), ends(), DONE]
    assert accept(items).extra["x_groq"] == {"id": "req"}


def test_log_probabilities_are_appended_by_kind() -> None:
    a, b, c = ({"token": token, "logprob": -1.0, "top_logprobs": []} for token in "abc")
    items = [
        chunk(choice({"content": "a"}, logprobs={"content": [a], "refusal": None})),
        chunk(choice({"content": "b"}, logprobs={"content": [b], "refusal": []})),
        chunk(choice({"refusal": "c"}, logprobs={"content": None, "refusal": [c]})),
        chunk(choice({}, "stop", logprobs=None)),
        DONE,
    ]
    (first,) = accept(items).choices
    assert first.extra == {"logprobs": {"content": [a, b], "refusal": [c]}}


def test_log_probabilities_of_several_choices_stay_apart() -> None:
    def sure(index: int, token: str) -> Payload:
        return choice({"content": token}, "stop", index=index, logprobs={"content": [token]})

    first, second = accept([chunk(sure(1, "b")), chunk(sure(0, "a"))]).choices
    assert first.extra == {"logprobs": {"content": ["a"]}}
    assert second.extra == {"logprobs": {"content": ["b"]}}


def test_audio_is_joined_and_its_data_stays_in_pieces() -> None:
    pieces: list[Payload] = [
        {"id": "audio_1"},
        {"transcript": "Hel"},
        {"data": "QQ=="},
        {"transcript": "lo", "data": "Qg=="},
        {"expires_at": 1},
        {"expires_at": 2, "id": "audio_1"},
    ]
    completion = accept(deltas(*({"audio": piece} for piece in pieces)))
    assert completion.choices[0].extra["audio"] == {
        "id": "audio_1",
        "transcript": "Hello",
        "data": ["QQ==", "Qg=="],
        "expires_at": 2,
    }
    assert completion.message["audio"] == {"id": "audio_1"}
    assert completion.message["content"] is None


def test_audio_whose_transcript_repeats_itself_keeps_each_piece() -> None:
    pieces = ("ha", "ha", "!")
    completion = accept(deltas(*({"audio": {"id": "a", "transcript": piece}} for piece in pieces)))
    assert completion.choices[0].extra["audio"]["transcript"] == "haha!"


def test_audio_whose_data_repeats_itself_keeps_each_piece() -> None:
    completion = accept(deltas(*({"audio": {"id": "a", "data": "AA=="}} for _ in range(3))))
    assert completion.choices[0].extra["audio"]["data"] == ["AA=="] * 3


def test_annotations_without_an_index_are_appended_in_order() -> None:
    def cites(url: str) -> Payload:
        return {"type": "url_citation", "url_citation": {"url": url, "start_index": 0}}

    items = [
        says("a", annotations=[cites("x"), cites("y")]),
        says(None, annotations=[]),
        says("b", annotations=None),
        chunk(choice({"annotations": [cites("z")]}), citations=["x", "y", "z"]),
        chunk(choice(finish="stop"), citations=[]),
        DONE,
    ]
    completion = accept(items)
    assert completion.choices[0].extra["annotations"] == [cites("x"), cites("y"), cites("z")]
    assert completion.extra["citations"] == ["x", "y", "z"]
    assert completion.text == "ab"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_reasoning_has_several_names(name: str) -> None:
    fields: list[Payload] = [{name: "Let"}, {name: ""}, {name: None}, {name: " me"}]
    items = deltas(*fields, {"content": "4"})
    completion = accept(items)
    assert completion.choices[0].parts == (ReasoningPart("Let me"), TextPart("4"))
    assert completion.message == {"role": "assistant", "content": "4"}
    assert updates_of(items)[:3] == [
        ReasoningDelta("Let"),
        ReasoningDelta(" me"),
        TextDelta("4", part=1),
    ]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_reasoning_beside_calls_is_in_the_message_under_its_name(name: str) -> None:
    items = [chunk(choice({name: "Hm"})), calling(GET), ends("tool_calls"), DONE]
    assert accept(items).message[name] == "Hm"


def test_reasoning_under_two_names_in_a_delta_is_read_once() -> None:
    both = [{"reasoning": text, "reasoning_content": text} for text in ("Let", " me")]
    assert accept(deltas(*both)).reasoning == "Let me"


def test_reasoning_under_one_name_and_then_another_is_all_read() -> None:
    items = deltas({"reasoning": "Let"}, {"reasoning_content": " me", "reasoning": None})
    assert accept(items).reasoning == "Let me"


@pytest.mark.parametrize("value", [{"summary": "x"}, ["x"], 5])
def test_reasoning_that_is_no_text_is_kept_for_the_message(value: Any) -> None:
    items = deltas({"content": "a"}, {"reasoning": value})
    completion = tolerate(items, "reasoning_not_string")
    assert (completion.text, completion.reasoning) == ("a", "")
    assert completion.message["reasoning"] == value
    refuse("reasoning_not_string", 2, items)


def detail(kind: str, **fields: Any) -> Payload:
    return {"type": f"reasoning.{kind}", **fields}


def test_reasoning_details_are_merged_by_type_and_index() -> None:
    items = deltas(
        {
            "reasoning": "Let",
            "reasoning_details": [detail("text", text="Let", index=0, format="x")],
        },
        {"reasoning": " me", "reasoning_details": [detail("text", text=" me", index=0)]},
        {
            "reasoning_details": [
                detail("text", signature="sig", index=0),
                detail("encrypted", data="AAAA", index=0, id="r1"),
                detail("encrypted", data="BBBB", index=1, id="r2"),
            ]
        },
    )
    completion = accept(items)
    assert completion.reasoning == "Let me"
    assert completion.message["reasoning_details"] == [
        detail("text", text="Let me", index=0, format="x", signature="sig"),
        detail("encrypted", data="AAAA", index=0, id="r1"),
        detail("encrypted", data="BBBB", index=1, id="r2"),
    ]


def test_reasoning_details_without_an_index_go_on_with_the_last_of_their_type() -> None:
    items = deltas(
        {"reasoning_details": [detail("text", text="a")]},
        {"reasoning_details": [detail("text", text="b"), detail("summary", summary="c")]},
        {"reasoning_details": [detail("summary", summary="d")]},
        {"reasoning_details": [detail("text", text="e")]},
    )
    completion = accept(items)
    assert completion.message["reasoning_details"] == [
        detail("text", text="ab"),
        detail("summary", summary="cd"),
        detail("text", text="e"),
    ]
    assert completion.choices[0].parts == (
        ReasoningPart("ab"),
        ReasoningPart("cd", summary=True),
        ReasoningPart("e"),
    )


def test_reasoning_details_of_interleaved_indexes_stay_apart() -> None:
    entries = [(0, "a"), (1, "x"), (0, "b"), (1, "y")]
    completion = accept(
        deltas(
            *(
                {"reasoning_details": [detail("text", text=text, index=index)]}
                for index, text in entries
            )
        )
    )
    assert completion.message["reasoning_details"] == [
        detail("text", text="ab", index=0),
        detail("text", text="xy", index=1),
    ]


def test_reasoning_details_of_two_ids_stay_apart() -> None:
    entries = [detail("text", text="a", id="1"), detail("text", text="b", id="2")]
    completion = accept(deltas({"reasoning_details": entries}))
    assert completion.message["reasoning_details"] == entries


@pytest.mark.parametrize("nothing", [None, []])
def test_reasoning_details_of_nothing_are_absent(nothing: Any) -> None:
    completion = accept(deltas({"reasoning_details": nothing, "content": "a"}))
    assert completion.message == {"role": "assistant", "content": "a"}


def thinking(text: str, **fields: Any) -> Payload:
    return {"type": "thinking", "thinking": text, **fields}


def test_thinking_blocks_are_closed_by_their_signatures() -> None:
    redacted = {"type": "redacted_thinking", "data": "AAAA"}
    items = deltas(
        {"reasoning_content": "Let", "thinking_blocks": [thinking("Let")]},
        {"reasoning_content": " me", "thinking_blocks": [thinking(" me")]},
        {"reasoning_content": "", "thinking_blocks": [thinking("", signature="sig1")]},
        {"thinking_blocks": [redacted]},
        {"reasoning_content": "So", "thinking_blocks": [thinking("So")]},
        {"thinking_blocks": [{"type": "thinking", "signature": "sig2"}], "content": "4"},
    )
    completion = accept(items)
    assert completion.message["thinking_blocks"] == [
        thinking("Let me", signature="sig1"),
        redacted,
        thinking("So", signature="sig2"),
    ]
    assert (completion.reasoning, completion.text) == ("Let meSo", "4")


def test_thinking_blocks_alone_are_reasoning() -> None:
    blocks = [thinking("Hm", signature="s"), thinking("!", signature="t")]
    completion = accept(deltas({"thinking_blocks": blocks}))
    assert completion.reasoning == "Hm!"
    assert completion.message["thinking_blocks"] == blocks


def test_thinking_tags_within_the_text_are_text() -> None:
    completion = accept([says("<think>Hm"), says("</think>4"), ends(), DONE])
    assert (completion.text, completion.reasoning) == ("<think>Hm</think>4", "")


def test_reasoning_again_behind_text_and_calls_keeps_its_place() -> None:
    fields: list[Payload] = [
        {"reasoning_content": "a"},
        {"content": "b"},
        {"reasoning_content": "c"},
        {"tool_calls": [GET]},
        {"reasoning_content": "d"},
        {"content": "e"},
    ]
    items = deltas(*fields, finish="tool_calls")
    completion = accept(items)
    parts = completion.choices[0].parts
    (call,) = completion.tool_calls
    assert parts == (
        ReasoningPart("a"),
        TextPart("b"),
        ReasoningPart("c"),
        call,
        ReasoningPart("d"),
        TextPart("e"),
    )
    assert (completion.reasoning, completion.text) == ("acd", "be")
    assert isinstance(parts[3], ToolCall)
    shown = [
        (type(each), each.part)
        for each in updates_of(items)
        if isinstance(each, (TextDelta, ReasoningDelta))
    ]
    assert shown == [
        (ReasoningDelta, 0),
        (TextDelta, 1),
        (ReasoningDelta, 2),
        (ReasoningDelta, 4),
        (TextDelta, 5),
    ]


def test_obfuscation_is_dropped() -> None:
    items = [
        chunk(choice({"content": "a", "obfuscation": "x9"}), obfuscation="x9"),
        ends(),
        DONE,
    ]
    completion = accept(items)
    assert completion.extra == {"created": 7}
    assert completion.message == {"role": "assistant", "content": "a"}


def test_fields_of_the_head_are_the_last_that_say_something() -> None:
    items = [
        chunk(choice({"content": "a"}), system_fingerprint="fp_1", service_tier="auto"),
        chunk(choice({"content": "b"}), system_fingerprint=None, service_tier="default"),
        event({"id": "cc-1", "moderation": {"flagged": False}}),
        chunk(choice(finish="stop"), system_fingerprint="", service_tier=None),
        DONE,
    ]
    assert accept(items).extra == {
        "created": 7,
        "system_fingerprint": "fp_1",
        "service_tier": "default",
        "moderation": {"flagged": False},
    }


def test_fields_that_nobody_knows_are_kept() -> None:
    items = [
        chunk(choice({"content": "a", "new": {"x": "1"}}, sure=1), provider="X"),
        chunk(choice({"new": {"x": "2", "y": [1]}}, sure=2)),
        chunk(choice({"new": {"y": [2]}, "void": None}, "stop", native_finish_reason="end")),
        DONE,
    ]
    completion = accept(items)
    assert completion.extra["provider"] == "X"
    assert completion.choices[0].extra == {"sure": 2, "native_finish_reason": "end"}
    assert completion.message == {
        "role": "assistant",
        "content": "a",
        "new": {"x": "12", "y": [1, 2]},
    }


def test_log_probabilities_of_nothing_are_absent() -> None:
    chunk = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [], "refusal": None}}
    events = [event({"choices": [{**chunk, "finish_reason": "stop"}]}), DONE]
    assert "logprobs" not in run(ChatCompletionsAssembler(), events).choices[0].extra


def test_reasoning_details_keep_what_null_does_not_replace() -> None:
    entries = [
        {"type": "reasoning.text", "text": "a", "signature": "s", "index": 0},
        {"type": "reasoning.text", "text": None, "signature": None, "index": 0},
    ]
    choices = [{"index": 0, "delta": {"reasoning_details": [entry]}} for entry in entries]
    ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events = [*(event({"choices": [choice]}) for choice in [*choices, ended]), DONE]
    assert run(ChatCompletionsAssembler(), events).message["reasoning_details"] == entries[:1]


def test_call_in_both_forms_is_one_call() -> None:
    function = {"name": "f", "arguments": "{}"}
    delta = {
        "tool_calls": [{"index": 0, "id": "a", "function": function}],
        "function_call": function,
    }
    choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls"}
    completion = run(ChatCompletionsAssembler(), [event({"choices": [choice]}), DONE])
    assert [call.id for call in completion.tool_calls] == ["a"]
    assert completion.complete
    assert codes(completion) == ["tool_id_reused"]
