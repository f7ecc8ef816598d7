"""Joining the fields of deltas: those that have a rule of their own, and those of no known one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._json import as_list, as_object, as_objects, as_text, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "Pieces",
    "fresh",
    "keep",
    "merge",
    "merge_audio",
    "merge_logprobs",
    "merge_reasoning_details",
    "merge_thinking_blocks",
    "plain",
    "thinking_texts",
]


# Entries of `reasoning_details` that may be added to at the same time.
_OPEN_DETAILS = 16


class Pieces:
    """A text within joined fields, joined when it is asked for: adding costs the same each time."""

    def __init__(self, text: str) -> None:
        self._pieces = [text]

    def add(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)

    def repeats(self, text: str) -> bool:
        """Whether the text is all that there is."""
        return len(self._pieces) == 1 and self._pieces[0] == text

    def join(self) -> str:
        """Return the whole text."""
        return "".join(self._pieces)


def plain(value: Any) -> Any:
    """Return joined fields as plain JSON values, which share nothing with them."""
    if isinstance(value, Pieces):
        return value.join()
    if is_object(value):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if is_list(value) else value


def _pieces(value: Any) -> Any:
    """Return a value that can be added to, which shares nothing with what it is made of."""
    if isinstance(value, str):
        return Pieces(value)
    if is_object(value):
        return {name: _pieces(item) for name, item in value.items()}
    # What is in an array is whole.
    return plain(value)


def fresh(before: str, text: str) -> str:
    """Return what a text that repeats all of what came before adds to it."""
    return text.removeprefix(before)


def merge(into: dict[str, Any], fields: dict[str, Any], known: Collection[str] = ()) -> None:
    """Join fields that nobody knows: objects by member, arrays by appending, text as pieces.

    A text that comes a second time just as it was is kept once: some servers repeat what does not
    change. For anything else the last one counts; null never does.

    Args:
        into: What came before; `plain` makes JSON values of it.
        fields: What came now.
        known: Names that are left out.
    """
    for name, value in fields.items():
        if name in known or value is None:
            continue
        before = into.get(name)
        if is_object(before) and is_object(value):
            merge(before, value)
        elif is_list(before) and is_list(value):
            before.extend(plain(value))
        elif isinstance(before, Pieces) and isinstance(value, str):
            if not before.repeats(value):
                before.add(value)
        else:
            into[name] = _pieces(value)


def keep(into: dict[str, Any], fields: dict[str, Any], known: frozenset[str]) -> None:
    """Keep of each further field the last value that says something: later events may lack it."""
    if not fields.keys() <= known:
        new = {name: value for name, value in fields.items() if name not in known}
        into.update({name: value for name, value in new.items() if value not in (None, "", [], {})})


def merge_logprobs(extra: dict[str, Any], logprobs: object) -> None:
    """Append the log probabilities of a chunk: `content` and `refusal`, each a list."""
    lists = {name: value for name, value in as_object(logprobs).items() if as_list(value)}
    if lists:
        merge(extra, {"logprobs": lists})


def merge_audio(extra: dict[str, Any], audio: dict[str, Any]) -> None:
    """Join audio: data stays a list, for each piece is padded base64 of its own."""
    fields = dict(audio)
    if isinstance(fields.get("data"), str):
        fields["data"] = [fields["data"]]
    transcript = as_text(fields.pop("transcript", None))
    if fields or transcript:
        merge(extra, {"audio": fields})
        _add_text(extra["audio"], "transcript", transcript)


def merge_reasoning_details(details: list[dict[str, Any]], new: object) -> list[tuple[str, bool]]:
    """Join OpenRouter's `reasoning_details`, one entry for each type, index and id.

    Returns:
        Each text that is new, and whether it is of a summary.
    """
    texts: list[tuple[str, bool]] = []
    for entry in as_objects(new):
        into = _detail(details, entry)
        for name, value in entry.items():
            if name in ("text", "summary") and isinstance(value, str):
                _add_text(into, name, value)
                texts.append((value, name == "summary"))
            elif value is not None:
                into[name] = value
    return texts


def _detail(details: list[dict[str, Any]], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry that a new one goes on with: without an index, none but the last."""
    index = entry.get("index")
    new: dict[str, Any] = {}
    old: dict[str, Any]
    for old in reversed(details[-1:] if index is None else details[-_OPEN_DETAILS:]):
        same_id = entry.get("id") is None or old.get("id") in (None, entry["id"])
        if old.get("type") == entry.get("type") and old.get("index") == index and same_id:
            return old
    details.append(new)
    return new


def merge_thinking_blocks(blocks: list[dict[str, Any]], new: object) -> list[tuple[str, bool]]:
    """Join LiteLLM's `thinking_blocks`: a signature closes a block, what is redacted comes whole.

    Returns:
        Each text that is new, and False: it is of no summary.
    """
    texts: list[tuple[str, bool]] = []
    for entry in as_objects(new):
        if entry.get("type") == "redacted_thinking":
            blocks.append(dict(entry))
            continue
        if not blocks or blocks[-1].get("signature") or "thinking" not in blocks[-1]:
            blocks.append({"type": "thinking"})
        text = as_text(entry.get("thinking"))
        _add_text(blocks[-1], "thinking", text)
        if entry.get("signature"):
            blocks[-1]["signature"] = entry["signature"]
        texts.append((text, False))
    return texts


def _add_text(into: dict[str, Any], name: str, text: str) -> None:
    before = into.get(name)
    if isinstance(before, Pieces):
        before.add(text)
    else:
        into[name] = Pieces(text)


def thinking_texts(value: object) -> list[str]:
    """Return the texts of a thinking part: a text, or a list of objects with one each."""
    if isinstance(value, str):
        return [value]
    return [as_text(item.get("text")) for item in as_objects(value)]
