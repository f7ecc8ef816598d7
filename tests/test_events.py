"""Items are values: equal, hashable, picklable, immutable, matched by name."""

from __future__ import annotations

import copy
import json
import pickle
from typing import get_args

import pytest

from sansio_sse import Comment, Event, Item, Retry, UnknownField

ITEMS: list[Item] = [
    Event(),
    Event("add", '{"a": 1}', "7", "7"),
    Comment("ping"),
    Retry(3000),
    UnknownField("error", "{}"),
]


def test_event_has_the_defaults_of_the_specification() -> None:
    event = Event()
    assert (event.type, event.data, event.id, event.last_event_id) == ("message", "", None, "")


@pytest.mark.parametrize("item", ITEMS, ids=repr)
def test_item_is_a_value(item: Item) -> None:
    twin = pickle.loads(pickle.dumps(item))
    assert twin == item
    assert type(twin) is type(item)
    assert hash(twin) == hash(item)
    assert copy.deepcopy(item) == item
    assert eval(repr(item)) == item
    for other in ITEMS:
        assert (other == item) is (other is item)


@pytest.mark.parametrize("item", ITEMS, ids=repr)
def test_item_cannot_be_changed(item: Item) -> None:
    for name in item._fields:
        with pytest.raises(AttributeError):
            setattr(item, name, "other")


def test_items_are_matched_by_name() -> None:
    seen: list[object] = []
    for item in ITEMS:
        match item:
            case Event(type="add", data=data):
                seen.append(data)
            case Event(last_event_id=last):
                seen.append(last)
            case Comment(text):
                seen.append(text)
            case Retry(milliseconds=milliseconds):
                seen.append(milliseconds)
            case UnknownField(name, value):
                seen.append((name, value))
    assert seen == ["", '{"a": 1}', "ping", 3000, ("error", "{}")]


def test_item_is_the_union_of_the_four() -> None:
    assert set(get_args(Item)) == {Event, Comment, Retry, UnknownField}


def test_json_parses_the_data() -> None:
    assert Event(data='{"a": [1, 2]}').json() == {"a": [1, 2]}


def test_json_takes_another_parser() -> None:
    assert Event(data="abc").json(loads=str.upper) == "ABC"


def test_json_keeps_the_type_of_what_parses() -> None:
    number: int = Event(data="abc").json(len)
    assert number == 3


@pytest.mark.parametrize("data", ["", "[DONE]", '{"a": '])
def test_json_of_what_is_no_json_raises(data: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        Event(data=data).json()


@pytest.mark.parametrize(
    ("data", "error"), [("[" * 200_000, RecursionError), ("1" * 5000, ValueError)]
)
def test_json_of_what_python_cannot_take_raises_as_documented(
    data: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Event(data=data).json()
