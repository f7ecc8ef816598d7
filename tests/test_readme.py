"""What the README shows is what happens."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from .adapters.provider import ANSWER as SAID
from .adapters.provider import NAME, WEATHER
from .adapters.servers import starlette_server

if TYPE_CHECKING:
    from collections.abc import Iterator

ADAPTERS = ["requests", "httpx", "aiohttp", "sockets", "asyncio", "trio"]
README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
EXAMPLES = [text for language, text in BLOCKS if language == "python"]
SESSIONS = [text for language, text in BLOCKS if language == "console"]


CHAT = {"words": ["Hello", "world"]}
# What the examples that read a URL print, whatever library it is.
EVENTS = ['tick {"n": 1}', 'tick {"n": 2}', 'tick {"n": 3}']
ANSWER = ['{"word": "Hello"}', '{"word": "world"}', "[DONE]"]
CHARACTERS = [f"{sum(map(len, ANSWER))} characters"]


@pytest.fixture(scope="module")
def starlette_url() -> Iterator[str]:
    with starlette_server() as server:
        yield server.url


def test_readme_has_its_examples_and_two_commands() -> None:
    libraries = [name for name in ADAPTERS if f"sansio_sse_adapters.{name}" in "".join(EXAMPLES)]
    assert libraries == ADAPTERS
    assert len(EXAMPLES) == 14
    assert [session.splitlines()[0].split()[1:4] for session in SESSIONS] == [
        ["python3", "-m", "sansio_sse"],
        ["python3", "scripts/check.py"],
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_python_example_runs(
    example: str, starlette_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {
        "events_url": f"{starlette_url}/count?to=3&each=2",
        "chat_url": f"{starlette_url}/chat",
        "chat": CHAT,
        "chat_completions_url": f"{starlette_url}/v1/chat/completions",
        "responses_url": f"{starlette_url}/v1/responses",
        "tools": [],
    }
    checked: list[tuple[str, Any]] = []
    names["validate"] = lambda name, arguments: checked.append((name, arguments))
    names["run_tool"] = lambda _, arguments: {**WEATHER, **arguments}
    exec(compile(example, str(README), "exec"), names)
    if "main" in names:
        run = trio.run if "adapters.trio" in example else lambda main: asyncio.run(main())
        run(names["main"])
    printed = capsys.readouterr().out.splitlines()
    if "on_progress=" in example:
        assert printed == ['{"n": 2} OPEN 2']
    elif "run_tool(" in example:
        assert checked == [(NAME, {"city": "Oslo"})]
        assert printed == ["".join(SAID)]
    elif "sansio_sse_adapters" in example:
        assert printed == EVENTS + ANSWER + (CHARACTERS if "characters" in example else [])
    else:
        assert printed == []


def test_inspect_prints_what_the_readme_shows() -> None:
    command, shown = SESSIONS[0].removeprefix("$ ").split("\n", 1)
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        capture_output=True,
        cwd=README.parent,
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.stdout.decode().replace(os.linesep, "\n") == shown
