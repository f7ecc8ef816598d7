"""What an assembler keeps while it reads, whatever the dialect: departures, counts, updates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ._completion import Finding
from ._errors import InvalidPayload, LimitExceeded
from ._json import as_objects, has_duplicate_keys, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Collection

    from ._errors import AssemblyError
    from ._limits import Limits
    from ._updates import Update

__all__ = ["Journal"]

# Enough to see what is going on, and a bound for what a hostile stream can make this hold.
_MAX_FINDINGS = 100
_MAX_FINDINGS_OF_A_CODE = 10
_MAX_MESSAGE_CHARACTERS = 500


class Journal:
    """The record of one stream.

    Every departure from a dialect goes through `depart`: so strict and tolerant reading can't drift
    apart, and what the one raises the other one lists.

    Args:
        strict: Whether a departure is an error.
        limits: What bounds the answer.
        known_tools: The names that a call may have; None if any.
        seen_call_ids: Ids of calls of earlier rounds.
    """

    def __init__(
        self,
        *,
        strict: bool,
        limits: Limits,
        known_tools: Collection[str] | None,
        seen_call_ids: Collection[str],
    ) -> None:
        self.strict = strict
        self.findings: list[Finding] = []
        self.updates: list[Update] = []
        self.event: int | None = 0
        # What could not be read: without it no call may be run, for it may have been part of one.
        self.lost: Finding | None = None
        self._limits = limits.checked()
        self._counts: Counter[str] = Counter()
        self._codes: Counter[str] = Counter()
        self._known_tools = known_tools
        self._seen_call_ids = frozenset(seen_call_ids)
        # The choices that each id of a call is in.
        self._ids: dict[str, set[int]] = {}
        self._checked: tuple[str, bool] | None = None

    def depart(
        self, code: str, message: str, error: type[AssemblyError] = InvalidPayload
    ) -> Finding:
        """Raise that the stream departs from its dialect, or note it if that is tolerated."""
        finding = self.note(code, message)
        if self.strict:
            raise error(finding.message, code)
        return finding

    def note(self, code: str, message: str) -> Finding:
        """Note what the dialect allows and a reader may want to know."""
        finding = Finding(code, message[:_MAX_MESSAGE_CHARACTERS], self.event)
        self._codes[code] += 1
        if len(self.findings) < _MAX_FINDINGS and self._codes[code] <= _MAX_FINDINGS_OF_A_CODE:
            self.findings.append(finding)
        return finding

    def read_object(self, fields: dict[str, Any], name: str) -> dict[str, Any]:
        """Return a member that is an object; an empty one if it is null or absent."""
        value = fields.get(name)
        if value is None or is_object(value):
            return value or {}
        self.lose(name, value, "an object")
        return {}

    def read_objects(self, fields: dict[str, Any], name: str) -> list[dict[str, Any]]:
        """Return a member that is an array of objects; an empty one if it is null or absent."""
        value = fields.get(name)
        if value is None or is_list(value):
            found = as_objects(value)
            if len(found) < len(value or ()):
                self.lose(name, value, "an array of objects")
            return found
        self.lose(name, value, "an array")
        return []

    def read_text(self, fields: dict[str, Any], name: str) -> str:
        """Return a member that is text; an empty one if it is null or absent."""
        value = fields.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        self.lose(name, value, "text")
        return ""

    def lose(self, name: str, value: object, wanted: str) -> None:
        """Depart, for a member that can't be read: what was in it is lost to the answer.

        Unless it is nothing in another form: an empty text, array or object, false, 0.
        """
        finding = self.depart("field_invalid", f"{name} is {str(value)[:80]!r}, not {wanted}")
        if value:
            self.lost = self.lost or finding

    def count(self, limit: str, amount: int = 1) -> None:
        """Count something that there is a limit for."""
        self._counts[limit] += amount
        self.check(limit, self._counts[limit])

    def check(self, limit: str, value: int) -> None:
        """Raise if the value passes a limit."""
        if value > self._limits[limit]:
            raise LimitExceeded(limit, self._limits[limit])

    def has_duplicate_keys(self, data: str) -> bool:
        """Return whether a payload holds a key twice; asked once for each call in it."""
        if self._checked is None or self._checked[0] is not data:
            self._checked = data, has_duplicate_keys(data)
        return self._checked[1]

    def check_tool(self, name: str) -> None:
        """Depart if the caller has no tool of that name."""
        if self._known_tools is not None and name not in self._known_tools:
            self.depart("unknown_tool", f"{name[:80]!r} is none of the known tools")

    def use_id(self, call_id: str, choice: int) -> Finding | None:
        """Depart if a call of a choice has the id of another one.

        Returns:
            Why it must not be run: the answer has that call already. That an earlier round had one
            of this id proves nothing, for some servers count from the start in each.
        """
        if call_id in self._seen_call_ids:
            self.depart("tool_id_reused", f"call id {call_id[:80]!r} was seen in an earlier round")
        choices = self._ids.setdefault(call_id, set())
        finding = None
        if choices:
            message = f"call id {call_id[:80]!r} is that of two calls"
            finding = self.depart("tool_id_reused", message)
        again = choice in choices
        choices.add(choice)
        return finding if again else None

    def make_id(self) -> str:
        """Return an id for a call that the server gave none: the same for the same stream."""
        number = len(self._ids)
        call_id = f"call_{number}"
        while call_id in self._ids or call_id in self._seen_call_ids:
            number += 1
            call_id = f"call_{number}"
        self._ids[call_id] = set()
        return call_id
