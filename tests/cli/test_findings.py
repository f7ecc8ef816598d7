"""What the findings say of the data, and of the time in which it came."""

from __future__ import annotations

import pytest

from sansio_sse._cli._bounds import Sample
from sansio_sse._cli._findings import Arrival, Findings, LineEndings, NotJson, Unknown


def judge(*datas: str) -> Findings:
    findings = Findings()
    for offset, data in enumerate(datas):
        assert findings.add_event(100 * offset, data) == offset + 1
    return findings


def test_a_sample_keeps_the_first_cases_and_counts_all() -> None:
    sample = Sample[int]()
    for case in range(12):
        assert sample.full == (case >= 10)
        sample.add(case)
    assert (sample.first, sample.count) == (list(range(10)), 12)


def test_line_endings_of_a_run_are_told_apart() -> None:
    endings = LineEndings()
    for run in (b"\n\n", b"\n", b"\r\n\r\n", b"\r\r\n", b"\n\r"):
        endings.add(run)
    assert endings == LineEndings(lf=4, crlf=3, cr=2)


def test_data_that_is_not_json_is_a_loss_where_most_is() -> None:
    findings = judge('{"a": 1}', "[1]", '{"a": ', "[DONE]")
    assert findings.losses == ["not_json"]
    assert findings.not_json.first == [NotJson(3, 200, "Expecting value at character 6")]
    assert findings.done == 4


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "Expecting value at character 0"),
        ("{} {}", "Extra data at character 3"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("[" * 200_000, "nested too deep"),
        ('{"a', "Unterminated string starting at character 1"),
        ('["\n"]', "Invalid control character at character 2"),
    ],
)
def test_the_reason_is_what_stands_in_the_way(data: str, reason: str) -> None:
    assert judge(data).not_json.first == [NotJson(1, 0, reason)]


@pytest.mark.parametrize(
    "datas", [("hello", "{}"), ("hello", "world", "[]"), ("1", "2", "x"), (), ("[DONE]",)]
)
def test_data_that_is_not_json_is_no_loss_where_most_is_not(datas: tuple[str, ...]) -> None:
    findings = judge(*datas)
    assert (findings.json_stream, findings.losses) == (False, [])


def test_numbers_of_any_length_are_json() -> None:
    findings = judge("[" + "7" * 5000 + "]", '{"a": 1e9999}')
    assert (findings.json_events, findings.not_json.count) == (2, 0)


def test_data_too_large_to_be_judged_is_neither() -> None:
    findings = judge("{" + "x" * (4 * 1024 * 1024))
    assert (findings.json_events, findings.other_events, findings.not_json.count) == (0, 1, 0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("error", None),
        ("", None),
        ("\ufeffdata", "data behind a byte order mark"),
        (" data", "data with white space around it"),
        ("id\t", "id with white space around it"),
        ("Data", "data in the wrong case"),
        ("\ufefferror", None),
    ],
)
def test_a_spoiled_name_has_a_hint(name: str, hint: str | None) -> None:
    assert Unknown(name, 0).hint == hint


def test_the_head_of_an_http_response_is_one_only_at_the_beginning() -> None:
    assert "only the body is an event stream" in (Unknown("HTTP/1.1 200 OK", 0).hint or "")
    assert Unknown("HTTP/1.1 200 OK", 9).hint is None


def test_unknown_names_are_kept_within_bounds() -> None:
    findings = Findings()
    for number in range(50):
        findings.add_unknown("x" * 1000 + str(number), number)
        findings.add_unknown(str(number), number)
    assert findings.unknown_fields == 100
    assert len(findings.unknown_names) == 10
    assert findings.unknown_names["x" * 200] == Unknown("x" * 200, 0, 50)


@pytest.mark.parametrize(
    ("wait", "span", "events", "held_back"),
    [
        (4.0, 0.0, 20, True),
        (4.0, 0.2, 20, True),
        (4.0, 0.3, 20, False),
        (1.0, 0.0, 2, True),
        # A single event can only come at once; a short wait is nobody's buffer.
        (4.0, 0.0, 1, False),
        (0.9, 0.0, 20, False),
        (0.0, 0.0, 20, False),
    ],
)
def test_everything_at_once_after_a_wait_is_held_back(
    wait: float, span: float, events: int, held_back: bool
) -> None:
    findings = Findings(events=events, arrival=Arrival(wait, span))
    assert findings.held_back is held_back
    assert findings.losses == []


def test_a_pending_block_is_no_loss_when_the_reading_was_interrupted() -> None:
    assert Findings(pending_block=3).losses == ["pending_block"]
    assert Findings(pending_block=3, interrupted=True).losses == []
