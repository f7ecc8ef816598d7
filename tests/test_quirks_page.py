"""The page of quirks names every code that there is, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import sansio_sse.llm

PAGES = Path(__file__).parents[1] / "docs"
PACKAGE = Path(sansio_sse.llm.__file__).parent
ERRORS = {"ProviderError", "IncompleteStream", "InvalidPayload", "InvalidToolCall"}


def codes_of_the_code() -> set[str]:
    """The stable words in calls of `depart`, `note`, errors and findings."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ""
            name = function.id if isinstance(function, ast.Name) else name
            values = [*node.args, *(each.value for each in node.keywords if each.arg == "code")]
            constants = [value.value for value in values if isinstance(value, ast.Constant)]
            texts = [text for text in constants if isinstance(text, str)]
            if name in {"depart", "note", "Finding", "BadArguments", "read_error"}:
                found.update(texts[:1])
            elif name in ERRORS:
                found.update(text for text in texts if re.fullmatch(r"[a-z_]+", text))
    return found


def test_pages_name_every_code_and_no_other() -> None:
    text = "".join((PAGES / name).read_text("utf-8") for name in ("quirks.md", "barrier.md"))
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", text))
    codes = codes_of_the_code()
    assert {"tool_index_missing", "truncated_call", "not_event_stream"} < codes
    assert codes - named == set()
    shaped = {word for word in named if word in codes or word.endswith(("_mismatch", "_missing"))}
    assert shaped <= codes
