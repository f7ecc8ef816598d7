"""The command line as a user meets it: arguments, streams, exit statuses."""

from __future__ import annotations

import importlib
import io
import json
import os
import random
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sansio_sse
from sansio_sse._cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTS = Path(__file__).parents[1]
CAPTURES = sorted((TESTS / "captures").glob("*.sse"))
VECTORS = [
    vector["bytes"].encode("latin-1")
    for vector in json.loads((TESTS / "vectors" / "parser.json").read_text("utf-8"))
]
# Where the package is, so that the subprocesses find it whatever they are started from.
ROOT = Path(sansio_sse.__file__).parents[1]
COMMAND = [sys.executable, "-m", "sansio_sse", "inspect"]


def environment(**variables: str) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **variables}


def feed_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_a_capture_is_shown_event_by_event(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["inspect", str(path)])
    # Those with an error of the provider; one has it in a field that clients ignore.
    assert status == (1 if path.name.startswith(("03_", "10_")) else 0)
    events = sansio_sse.parse(path.read_bytes())
    output = capsys.readouterr().out
    numbers = [line[:4].strip() for line in output.splitlines()]
    assert [number for number in numbers if number.isdigit()] == [
        str(number) for number in range(1, len(events) + 1)
    ]
    assert f"{len(events)} event" in output


def test_json_carries_the_whole_data(capsys: pytest.CaptureFixture[str]) -> None:
    path = next(path for path in CAPTURES if path.name.startswith("13_"))
    assert main(["inspect", "--json", str(path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    events = sansio_sse.parse(path.read_bytes())
    assert [line["data"] for line in lines[:-1]] == [event.data for event in events]
    assert "seconds" not in lines[0]
    assert (lines[-1]["kind"], lines[-1]["status"]) == ("findings", 0)


def test_standard_input_is_read_with_the_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed_stdin(monkeypatch, b"data: a\n\n")
    times = iter([10.0, 12.5])
    assert main(["inspect", "-"], clock=lambda: next(times)) == 0
    output = capsys.readouterr().out
    assert "seconds" in output
    assert "first byte after 2.50 s, last one 0.00 s later" in output


@pytest.mark.parametrize("command", ["inspect", "assemble"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no\x1bsuch.sse", "No such file or directory"),
        (".", "Is a directory"),
        ("a\0b", "embedded null byte"),
        ("", "the file name is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_status_2(
    command: str, name: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, name]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", f"sansio-sse: cannot read {name!r}: {reason}\n")


def test_a_process_without_standard_input_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["inspect", "-"]) == 2
    assert capsys.readouterr().err == ("sansio-sse: cannot read '-': there is no standard input\n")


def test_a_process_without_standard_output_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["inspect", str(CAPTURES[0])]) == 2
    assert capsys.readouterr().err == ("sansio-sse: cannot write: there is no standard output\n")


def test_a_process_without_standard_error_fails_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["inspect", "missing.sse"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["--vers"],
        ["inspect"],
        ["inspect", "--nonsense", "x"],
        ["inspect", "--js", "x"],
        ["inspect", "a", "b"],
        ["inspect", "--strict", "x"],
        ["assemble"],
        ["assemble", "--json", "x"],
        ["assemble", "--dialect", "openai", "x"],
        ["assemble", "--stri", "x"],
    ],
)
def test_wrong_arguments_give_status_2_and_the_usage_of_the_command(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    command = [name for name in ("inspect", "assemble") if name in arguments]
    usage = " ".join(["usage: sansio-sse", *command, "["])
    assert capsys.readouterr().err.startswith(usage)


@pytest.mark.parametrize(
    ("command", "by_hand", "words"),
    [
        (
            "inspect",
            "These mean",
            ("last_event_id", "dialect", "provider_error", "60 columns", "curl -sN"),
        ),
        (
            "assemble",
            "The object",
            ("--strict", "(Gemini", "tool_calls", "other_choices", "curl -sN"),
        ),
    ],
)
def test_help_tells_keys_statuses_and_an_example(
    command: str, by_hand: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"], prog="python3 -m sansio_sse")
    assert exit_.value.code == 0
    text = capsys.readouterr().out
    for word in (*words, "exit status:", f"python3 -m sansio_sse {command} -"):
        assert word in text
    # argparse wraps the rest to the terminal.
    assert max(map(len, text[text.index(by_hand) :].splitlines())) <= 80


def test_help_of_inspect_names_every_key_of_the_findings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["inspect", "--json", str(CAPTURES[0])]) == 0
    findings = json.loads(capsys.readouterr().out.splitlines()[-1])
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    words = set(re.findall(r"\w+", capsys.readouterr().out))
    assert {*findings, *findings["answer"]} <= words


def test_help_of_assemble_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assemble", str(CAPTURES[2])]) == 0
    printed = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        main(["assemble", "--help"])
    words = set(re.findall(r"\w+", capsys.readouterr().out))
    assert {*printed, *printed["tool_calls"][0], *printed["usage"]} <= words


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"], prog="python3 -m sansio_sse")
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"sansio-sse {sansio_sse.__version__}\n"


def test_the_module_runs_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["-m", "inspect", str(CAPTURES[0])])
    with pytest.raises(SystemExit) as exit_:
        runpy.run_module("sansio_sse", run_name="__main__")
    assert exit_.value.code == 0
    assert "events" in capsys.readouterr().out


def test_importing_the_module_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("sansio_sse.__main__")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", ["inspect", "assemble"])
def test_an_interrupt_while_writing_gives_status_130(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(io.StringIO):
        def write(self, _: str, /) -> int:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", Interrupted())
    assert main([command, str(CAPTURES[0])]) == 130


@pytest.mark.parametrize("command", ["inspect", "assemble"])
def test_output_that_nobody_reads_any_more_ends_quietly(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main([command, str(CAPTURES[0])]) == 141
    assert capsys.readouterr().err == ""


def test_output_that_cannot_be_written_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["inspect", str(CAPTURES[0])]) == 2
    assert capsys.readouterr().err == "sansio-sse: cannot write: No space left on device\n"


@pytest.mark.parametrize("json_option", [[], ["--json"]])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_any_bytes_can_be_shown_in_any_encoding(
    encoding: str, json_option: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    streams = [chance.randbytes(chance.randrange(2000)) for _ in range(100)]
    streams += [path.read_bytes() for path in CAPTURES] + VECTORS
    for stream in streams:
        feed_stdin(monkeypatch, stream)
        output = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["inspect", "-", *json_option]) in (0, 1)
        output.flush()
        output.seek(0)
        lines = output.read().split("\n")
        assert all(line.isprintable() for line in lines)
        if json_option:
            assert json.loads(lines[-2])["kind"] == "findings"


def test_rows_come_while_standard_input_is_open() -> None:
    with subprocess.Popen(
        [*COMMAND, "--json", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, block in enumerate((b"data: a\n\n", b"data: b\r\n\r", b"\ndata: c\r\r"), 1):
            process.stdin.write(block)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["number"] == number
        process.stdin.close()
        assert json.loads(process.stdout.readline())["kind"] == "findings"
    assert process.returncode == 0


def test_a_pipe_that_closes_early_leaves_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "long.sse"
    path.write_bytes(b"data: x\n\n" * 100_000)
    with subprocess.Popen(
        [*COMMAND, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_short_id_is_shown_on_an_ascii_terminal() -> None:
    done = subprocess.run(
        [*COMMAND, "-"],
        input=b"id: 7\ndata: a\n\n",
        capture_output=True,
        env=environment(PYTHONIOENCODING="ascii"),
        check=True,
    )
    heading, row = done.stdout.decode("ascii").splitlines()[:2]
    assert heading.index("id") == row.index("7")


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}]
)
def test_an_ascii_terminal_gets_ascii(variables: dict[str, str]) -> None:
    path = next(path for path in CAPTURES if path.name.startswith("04_"))
    done = subprocess.run(
        [*COMMAND, str(path)],
        capture_output=True,
        env=environment(**variables, PYTHONCOERCECLOCALE="0"),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_a_missing_file_exits_with_status_2() -> None:
    done = subprocess.run(
        [*COMMAND, "missing.sse"], capture_output=True, env=environment(), check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [
        "python3 -m sansio_sse: cannot read 'missing.sse': No such file or directory"
    ]
