"""Text for a terminal: it fits, and it is harmless."""

from __future__ import annotations

import io
import sys
import unicodedata

import pytest

from sansio_sse._cli._terminal import Terminal

WIDE = "世界你好"


class Screen(io.StringIO):
    """A terminal without a screen."""

    def isatty(self) -> bool:
        return True


def width(text: str) -> int:
    visible = [c for c in text if unicodedata.category(c) not in ("Mn", "Me")]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in visible)


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("", ""),
        ("12345678", "12345678"),
        ("123456789", "1234567…"),
        (WIDE, WIDE),
        (WIDE + "x", "世界你…"),
        ("x" + WIDE, "x世界你…"),
        ("a\nb", "a\\nb"),
        ("a\x1b[31m", "a\\x1b[3…"),
        ("\x1b]0;x\a", "\\x1b]0;…"),
        ("abcdef\0", "abcdef…"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "…"),
        ("e\u0301" * 8, "e\u0301" * 8),
        ("\u0301" * 33, "\u0301" * 32 + "…"),
    ],
)
def test_text_fits_and_shows_what_has_no_shape(text: str, fitting: str) -> None:
    assert Terminal(80).fit(text, 8) == fitting


def test_no_text_passes_a_control_character_or_the_width() -> None:
    for code in [*range(0x3000), 0xFEFF, 0xD800, 0xE000, 0xFFFF, 0x1F600, 0xE0001, 0x10FFFF]:
        shown = Terminal(80).fit(f"{chr(code)}世界ab", 6)
        assert shown.isprintable()
        assert width(shown) <= 6


@pytest.mark.parametrize(("columns", "shown"), [(-3, ""), (0, ""), (1, "."), (2, "..")])
@pytest.mark.parametrize("text", ["abc", "é"])
def test_text_without_room_leaves_a_sign_of_itself(text: str, columns: int, shown: str) -> None:
    terminal = Terminal(80, "ascii")
    assert (terminal.fit(text, columns), terminal.width(text, columns)) == (shown, len(shown))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("text", ["", "7", "id", "\0", "é", WIDE])
def test_text_that_fits_is_never_cut(text: str, encoding: str) -> None:
    terminal = Terminal(80, encoding)
    whole = terminal.fit(text, 80)
    needed = terminal.width(text, 80)
    assert (terminal.fit(text, needed), terminal.width(text, needed)) == (whole, needed)
    if needed:
        assert terminal.fit(text, needed - 1) != whole


def test_a_character_that_the_encoding_lacks_is_escaped() -> None:
    assert Terminal(80, "ascii").fit("é世", 20) == "\\xe9\\u4e16"
    assert Terminal(80, "cp1252").fit("é世", 20) == "é\\u4e16"
    assert Terminal(80, "ascii").fit("123456789", 8) == "12345..."


def test_a_column_is_filled_up_to_its_width() -> None:
    terminal = Terminal(80)
    assert terminal.column("世", 5) == "世   "
    assert terminal.column("12345", 5) == "12345"


def test_a_tail_column_shows_the_end() -> None:
    terminal = Terminal(80)
    assert terminal.tail_column("output_text.delta", 8) == "…t.delta"
    assert terminal.tail_column("short", 8) == "short   "
    assert terminal.tail_column("世界世界世界世界世界", 8) == "世界世… "
    assert Terminal(80, "ascii").tail_column("output_text.delta", 8) == "...delta"


def test_a_terminal_has_colour_unless_somebody_is_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Terminal.behind(Screen()).paint("x", "alarm") == "\x1b[31mx\x1b[0m"
    assert Terminal.behind(io.StringIO()).paint("x", "alarm") == "x"
    monkeypatch.setenv("NO_COLOR", "")
    assert Terminal.behind(Screen()).paint("x", "faint") == "\x1b[2mx\x1b[0m"
    assert Terminal.behind(Screen()).paint("", "faint") == ""
    monkeypatch.setenv("NO_COLOR", "1")
    assert Terminal.behind(Screen()).paint("x", "alarm") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert Terminal.behind(Screen()).paint("x", "alarm") == "x"


def test_the_width_is_that_of_the_terminal_within_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert Terminal.behind(sys.__stdout__ or io.StringIO()).columns == 123
    assert Terminal(3).columns == 60
