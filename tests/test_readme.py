"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
EXAMPLES = [text for language, text in BLOCKS if language == "python"]
SESSIONS = [text for language, text in BLOCKS if language == "console"]


def test_readme_has_examples_and_two_commands() -> None:
    assert len(EXAMPLES) >= 4
    assert [session.splitlines()[0].split()[1:4] for session in SESSIONS] == [
        ["python3", "-m", "sansio_sse"],
        ["python3", "scripts/check.py"],
    ]


@pytest.mark.parametrize("example", EXAMPLES)
def test_python_example_runs(example: str) -> None:
    exec(compile(example, str(README), "exec"), {})


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
