"""What the documents show is what happens."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import urllib3

import sansio_sse
from sansio_sse import Backoff, Event, UnexpectedStatus

from .adapters.hostile import (
    HostileServer,
    cut_before_last_chunk,
    cut_in_chunk,
    no_content,
    page,
    redirect,
    stream,
)

PAGE = Path(__file__).parents[1] / "docs" / "embedding.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
BODY = b"id: 1\ndata: a\n\n"
SOON = Backoff(base=0.01, jitter=0)


def names_of(example: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(example, str(PAGE), "exec"), names)
    return names


def test_the_page_has_two_examples_and_the_adapter_is_of_thirty_lines() -> None:
    one_response, adapter = EXAMPLES
    assert "EventStreamParser" in one_response
    code = [
        line for line in adapter.splitlines() if line and not line.startswith(("import", "from"))
    ]
    assert len(code) <= 36


def test_example_for_one_response_yields_its_events() -> None:
    events_of = names_of(EXAMPLES[0])["events_of"]
    headers = {"Content-Type": "text/event-stream"}
    assert list(events_of(200, headers, [b"da", b"ta: a\n\n"])) == [Event(data="a")]
    assert list(events_of(204, {}, [])) == []
    with pytest.raises(UnexpectedStatus):
        list(events_of(404, headers, []))


def test_urllib3_adapter_reconnects_after_ends_losses_and_redirects() -> None:
    events_from = names_of(EXAMPLES[1])["events_from"]
    answers = [
        stream(BODY),
        cut_in_chunk(b"data: b\n\n"),
        redirect(307, "/elsewhere"),
        stream(b"data: c\n\n"),
        no_content(),
    ]
    with HostileServer(*answers) as server, urllib3.PoolManager() as http:
        events = list(events_from(http, server.url, backoff=SOON))
        assert [event.data for event in events] == ["a", "b", "c"]
        ids = [request.header("Last-Event-ID") for request in server.requests]
        assert ids == [None, b"1", b"1", b"1", b"1"]


def test_urllib3_adapter_raises_what_the_machine_stops_with() -> None:
    events_from = names_of(EXAMPLES[1])["events_from"]
    with (
        HostileServer(page(401, "application/json", b'{"error": "key"}')) as server,
        urllib3.PoolManager() as http,
        pytest.raises(UnexpectedStatus) as caught,
    ):
        list(events_from(http, server.url))
    assert caught.value.body == b'{"error": "key"}'


def test_urllib3_adapter_gives_the_error_of_the_transport_back_when_it_gives_up() -> None:
    events_from = names_of(EXAMPLES[1])["events_from"]
    once = Backoff(max_attempts=1)
    with (
        HostileServer(cut_before_last_chunk(b"")) as server,
        urllib3.PoolManager() as http,
        pytest.raises(urllib3.exceptions.ProtocolError),
    ):
        list(events_from(http, server.url, backoff=once))


def test_vendored_core_works_without_its_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "vendor" / "sse"
    core = Path(sansio_sse.__file__).parent
    skipped = shutil.ignore_patterns("__pycache__", "_cli", "__main__.py", "testing.py", "llm")
    shutil.copytree(core, folder, ignore=skipped)
    code = "from vendor.sse import parse; print(parse(b'data: 42\\n\\n')[0].data)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["42"]
