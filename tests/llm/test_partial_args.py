"""Arguments built from values and their JSONPaths, as Gemini streams them."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import Limits
from sansio_sse.llm._journal import Journal
from sansio_sse.llm._partial_args import PartialArguments

Piece = dict[str, Any]


def text(path: str, value: str, *, goes_on: bool = False) -> Piece:
    piece: Piece = {"jsonPath": path, "stringValue": value}
    return {**piece, "willContinue": True} if goes_on else piece


def number(path: str, value: float) -> Piece:
    return {"jsonPath": path, "numberValue": value}


def take(*pieces: Piece) -> tuple[PartialArguments, list[str | None]]:
    """The arguments after these pieces, and what was wrong with each."""
    journal = Journal(strict=False, limits=Limits(), known_tools=None, seen_call_ids=())
    arguments = PartialArguments(journal)
    return arguments, [arguments.take(piece) for piece in pieces]


def build(*pieces: Piece) -> dict[str, Any]:
    """What comes of pieces with which nothing is wrong, and which leave no string open."""
    arguments, wrong = take(*pieces)
    assert wrong == [None] * len(pieces)
    assert arguments.open_path is None
    return arguments.value()


def test_value_without_pieces_is_empty_object() -> None:
    assert build() == {}


@pytest.mark.parametrize(
    ("field", "value", "made"),
    [
        ("stringValue", "x", "x"),
        ("stringValue", "", ""),
        ("stringValue", "null", "null"),
        ("stringValue", "a\n\u2028\U0001f44b", "a\n\u2028\U0001f44b"),
        ("numberValue", 0, 0),
        ("numberValue", -3, -3),
        ("numberValue", 2.5, 2.5),
        ("numberValue", 2**60, 2**60),
        ("boolValue", True, True),
        ("boolValue", False, False),
        ("nullValue", None, None),
        ("nullValue", "NULL_VALUE", None),
        ("nullValue", 0, None),
    ],
    ids=str,
)
def test_take_sets_value_of_each_kind(field: str, value: object, made: object) -> None:
    built = build({"jsonPath": "$.a", field: value})
    assert built == {"a": made}
    assert type(built["a"]) is type(made)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stringValue", 5),
        ("stringValue", True),
        ("stringValue", ["x"]),
        ("stringValue", {"x": 1}),
        ("stringValue", None),
        ("numberValue", "5"),
        ("numberValue", "NaN"),
        ("numberValue", True),
        ("numberValue", [5]),
        ("numberValue", None),
        ("boolValue", "true"),
        ("boolValue", 1),
        ("boolValue", None),
    ],
    ids=str,
)
def test_take_refuses_value_of_other_kind_than_its_field(field: str, value: object) -> None:
    _, wrong = take({"jsonPath": "$.a", field: value})
    assert wrong[0]


@pytest.mark.parametrize(
    "piece",
    [
        {},
        {"jsonPath": "$.a"},
        {"jsonPath": "$.a", "willContinue": True},
        {"stringValue": "x"},
        {"jsonPath": None, "stringValue": "x"},
        {"jsonPath": 5, "stringValue": "x"},
        {"jsonPath": ["$.a"], "stringValue": "x"},
        {"jsonPath": "$.a", "stringValue": "x", "numberValue": 1},
        {"jsonPath": "$.a", "boolValue": True, "nullValue": None},
        {"jsonPath": "$.a", "structValue": {"b": 1}},
    ],
    ids=str,
)
def test_take_refuses_piece_without_one_place_and_one_value(piece: Piece) -> None:
    arguments, wrong = take(piece)
    assert wrong[0]
    assert arguments.value() == {}


@pytest.mark.parametrize(
    "pieces",
    [
        [("he", True), ("llo", False)],
        [("", True), ("hello", True), ("", False)],
        [("h", True), ("e", True), ("l", True), ("l", True), ("o", True), ("", False)],
        [("hello", True), ("", False)],
    ],
    ids=len,
)
@pytest.mark.parametrize("path", ["$.a", "$.a.b", "$.a[0]", "$['a']['b']"])
def test_take_joins_string_in_pieces(path: str, pieces: list[tuple[str, bool]]) -> None:
    built = build(*[text(path, value, goes_on=goes_on) for value, goes_on in pieces])
    assert built == build(text(path, "hello"))


def test_take_joins_repeated_piece_twice() -> None:
    built = build(
        text("$.a", "ha", goes_on=True), text("$.a", "ha", goes_on=True), text("$.a", "ha")
    )
    assert built == {"a": "hahaha"}


def test_open_path_names_string_that_goes_on() -> None:
    arguments, _ = take(text("$.a", "x"), text("$.b[0]", "y", goes_on=True))
    assert arguments.open_path == "$.b[0]"
    assert arguments.take(text("$.b[0]", "z")) is None
    assert arguments.open_path is None
    assert arguments.value() == {"a": "x", "b": ["yz"]}


@pytest.mark.parametrize("field", ["numberValue", "boolValue", "nullValue"])
def test_open_path_stays_none_for_value_that_is_no_string(field: str) -> None:
    value = {"numberValue": 1, "boolValue": True, "nullValue": None}[field]
    arguments, wrong = take({"jsonPath": "$.a", field: value, "willContinue": True})
    assert wrong == [None]
    assert arguments.open_path is None


@pytest.mark.parametrize(
    "following",
    [
        text("$.b", "x"),
        text("$.b", "x", goes_on=True),
        text("$.a.b", "x"),
        text("$['a']", "x"),
        number("$.b", 1),
        number("$.a", 1),
        {"jsonPath": "$.a", "nullValue": None},
    ],
    ids=str,
)
def test_take_refuses_other_value_while_string_goes_on(following: Piece) -> None:
    _, wrong = take(text("$.a", "x", goes_on=True), following)
    assert wrong[0] is None
    assert wrong[1]


@pytest.mark.parametrize(
    ("pieces", "value"),
    [
        ([number("$.a.b", 1), number("$.a.c", 2)], {"a": {"b": 1, "c": 2}}),
        ([number("$.a.b.c.d", 1)], {"a": {"b": {"c": {"d": 1}}}}),
        ([number("$.a[0]", 1), number("$.a[1]", 2)], {"a": [1, 2]}),
        ([number("$.a[0].b", 1), number("$.a[0].c", 2)], {"a": [{"b": 1, "c": 2}]}),
        ([number("$.a[0].b", 1), number("$.a[1].b", 2)], {"a": [{"b": 1}, {"b": 2}]}),
        (
            [number("$.a[0][0]", 1), number("$.a[0][1]", 2), number("$.a[1][0]", 3)],
            {"a": [[1, 2], [3]]},
        ),
        ([number("$.a[0]", 1), text("$.a[1]", "x")], {"a": [1, "x"]}),
        (
            [number("$.a.b", 1), number("$.c", 2), number("$.a.d", 3)],
            {"a": {"b": 1, "d": 3}, "c": 2},
        ),
        ([number("$.a[0]", 1), number("$.b[0]", 2), number("$.a[1]", 3)], {"a": [1, 3], "b": [2]}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_take_builds_objects_and_arrays(pieces: list[Piece], value: dict[str, Any]) -> None:
    assert build(*pieces) == value


def test_take_keeps_order_of_members() -> None:
    built = build(number("$.b", 1), number("$.a.z", 2), number("$.a.y", 3), number("$.0", 4))
    assert list(built) == ["b", "a", "0"]
    assert list(built["a"]) == ["z", "y"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("$.a", "a"),
        ("$.a_b", "a_b"),
        ("$.a-b", "a-b"),
        ("$.0", "0"),
        ("$.größe", "größe"),
        ("$.名", "名"),
        ("$.$ref", "$ref"),
        ("$['a']", "a"),
        ('$["a"]', "a"),
        ("$['a.b']", "a.b"),
        ("$['a b']", "a b"),
        ("$['a[0]']", "a[0]"),
        ("$['0']", "0"),
        ("$['']", ""),
        ('$[""]', ""),
        ("$['*']", "*"),
        ("$['a\"b']", 'a"b'),
        ('$["a\'b"]', "a'b"),
    ],
)
def test_take_reads_name(path: str, name: str) -> None:
    assert build(number(path, 1)) == {name: 1}


def test_take_reads_same_place_in_both_notations() -> None:
    assert build(number("$.a.b", 1), number("$['a']['c']", 2), number('$["a"].d', 3)) == {
        "a": {"b": 1, "c": 2, "d": 3}
    }


@pytest.mark.parametrize(
    "path",
    [
        "",
        "$",
        "a",
        ".a",
        "a.b",
        "$a",
        "$.",
        "$..a",
        "$.a.",
        "$.a..b",
        "$.*",
        "$[*]",
        "$.a[*]",
        "$.a[]",
        "$.a[-1]",
        "$.a[0:1]",
        "$.a[0,1]",
        "$.a[1.0]",
        "$.a[ 0 ]",
        "$.a[0",
        "$.a 0",
        "$.a['b]",
        "$.a['b'",
        "$.a[\"b']",
        "$.a['it\\'s']",
        "$.a[?(@.b)]",
        "$.a[9999999999]",
        " $.a",
        "$.a ",
        "@.a",
    ],
)
def test_take_refuses_path_that_names_no_single_place(path: str) -> None:
    arguments, wrong = take(number(path, 1))
    assert wrong[0]
    assert arguments.value() == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("$.a", "$.a"),
        ("$.a", "$['a']"),
        ("$.a", "$.a.b"),
        ("$.a", "$.a[0]"),
        ("$.a.b", "$.a"),
        ("$.a.b", "$.a[0]"),
        ("$.a[0]", "$.a"),
        ("$.a[0]", "$.a.b"),
        ("$.a[0]", "$.a[0]"),
        ("$.a[0]", "$.a[0].b"),
        ("$.a[0].b", "$.a[0]"),
        ("$.a[0].b", "$.a[0][0]"),
    ],
)
@pytest.mark.parametrize("kind", ["stringValue", "numberValue", "nullValue"])
def test_take_refuses_value_in_place_of_another(kind: str, first: str, second: str) -> None:
    value = {"stringValue": "x", "numberValue": 1, "nullValue": None}[kind]
    arguments, wrong = take({"jsonPath": first, kind: value})
    assert wrong == [None]
    before = arguments.value()
    assert arguments.take({"jsonPath": second, kind: value})
    assert arguments.value() == before


@pytest.mark.parametrize("path", ["$[0]", "$[0].a", "$[0][0]"])
def test_take_refuses_array_as_root(path: str) -> None:
    arguments, wrong = take(number(path, 1))
    assert wrong[0]
    assert arguments.value() == {}


@pytest.mark.parametrize("index", [1, 2, 1_000, 999_999_999])
def test_take_refuses_index_behind_the_end(index: int) -> None:
    arguments, wrong = take(number(f"$.a[{index}]", 1))
    assert wrong[0]
    assert arguments.value() in ({}, {"a": []})


@pytest.mark.parametrize("index", [2, 999_999_999])
def test_take_refuses_gap_in_array(index: int) -> None:
    arguments, wrong = take(number("$.a[0]", 1), number(f"$.a[{index}].b", 1))
    assert wrong[0] is None
    assert wrong[1]
    assert arguments.value() == {"a": [1]}


@pytest.mark.parametrize(
    ("depth", "taken"), [(99, True), (100, True), (101, False), (10_000, False)]
)
@pytest.mark.parametrize("step", [".a", "['a']", "[0]"])
def test_take_bounds_depth(step: str, depth: int, taken: bool) -> None:
    arguments, wrong = take(number("$.a" + step * (depth - 1), 1))
    assert (wrong[0] is None) is taken
    assert (arguments.value() == {}) is not taken


def test_take_reads_long_string_in_many_pieces() -> None:
    count = 20_000
    pieces = [text("$.a", "xy", goes_on=True)] * count
    assert build(*pieces, text("$.a", "")) == {"a": "xy" * count}


def test_value_shares_nothing_with_the_arguments() -> None:
    arguments, _ = take(number("$.a.b", 1))
    first = arguments.value()
    first["a"]["c"] = 2
    assert arguments.value() == {"a": {"b": 1}}


def test_message_about_wrong_piece_is_bounded() -> None:
    arguments, _ = take(text("$." + "a" * 100_000, "x", goes_on=True))
    for piece in (
        number("$." + "b" * 100_000, 1),
        number("$." + "a" * 100_000, 1),
        {"jsonPath": "$." + "c" * 100_000},
        number("$." + "a" * 100_000 + ".b", 1),
    ):
        wrong = arguments.take(piece)
        assert wrong is None or len(wrong) < 300
