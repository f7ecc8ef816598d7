"""Why there is no complete answer, and what arrived of it.

- `AssemblyError`: the root, itself an `SSEError`
    - `ProviderError`: the provider reported an error, or answered with something else.
    - `IncompleteStream`: the stream ended before the answer did.
    - `InvalidPayload`: the stream departs from its dialect in a way that can't be read safely.
    - `InvalidToolCall`: a call that must not be run.
    - `LimitExceeded`: it was more than the caller allows.

Each has a `code` that does not change between releases; docs/quirks.md lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._errors import SSEError

if TYPE_CHECKING:
    from ._completion import Completion, ToolCall

__all__ = [
    "AssemblyError",
    "IncompleteStream",
    "InvalidPayload",
    "InvalidToolCall",
    "LimitExceeded",
    "ProviderError",
]


class AssemblyError(SSEError):
    """There is no complete answer.

    Attributes:
        message: What happened.
        code: A stable word for it.
        event: The number of the event that showed it, from 1; None if it was the end of the stream.
        partial: What arrived before: a `Completion` that is not complete and none of whose calls
            can be run. None for an error that has no stream behind it.
    """

    def __init__(self, message: str, code: str = "assembly_error") -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code
        self.event: int | None = None
        self.partial: Completion | None = None

    def __str__(self) -> str:
        return self.message


class ProviderError(AssemblyError):
    """The provider reported an error: in the stream, or in place of it.

    Attributes:
        message: The provider's message.
        code: `"provider_error"`, or a narrower word of this library.
        type: The provider's word for the kind of error, if it gave one.
        provider_code: The provider's code, a number or a word, if it gave one.
        status: The HTTP status that it stands for, where that is known. The response itself often
            has 200.
        retryable: Whether the same request may succeed later: overload, rate limits, faults of the
            server. An exhausted quota does not pass by itself.
        raw: What the provider sent: the object, or a text.
    """

    def __init__(
        self,
        message: str,
        code: str = "provider_error",
        *,
        type: str | None = None,
        provider_code: str | int | None = None,
        status: int | None = None,
        retryable: bool = False,
        raw: Any = None,
    ) -> None:
        super().__init__(message, code)
        self.type = type
        self.provider_code = provider_code
        self.status = status
        self.retryable = retryable
        self.raw = raw


class IncompleteStream(AssemblyError):
    """The stream ended before the answer did: no finish reason, no terminal event, no event at all.

    It may have been cut by the network, a proxy, a timeout or the server. The same request may be
    sent again, if doing so is safe.
    """


class InvalidPayload(AssemblyError):
    """An event is not what its dialect says, and can't be read in one safe way.

    Strictly, any departure from the dialect is one.
    """


class InvalidToolCall(AssemblyError):
    """A call that must not be run: cut off, not valid, or refused by the caller's own check.

    Attributes:
        call: The call, its text included; None where the error is about all of them.
    """

    def __init__(self, message: str, code: str = "invalid_tool_call") -> None:
        super().__init__(message, code)
        self.call: ToolCall | None = None


class LimitExceeded(AssemblyError):
    """The peer sent more than the caller allows.

    Attributes:
        name: The limit, as it is named in `Limits`.
        limit: Its value.
    """

    def __init__(self, name: str, limit: int) -> None:
        noun = name.removeprefix("max_").replace("_", " ")
        super().__init__(f"more than {limit} {noun}", "limit_exceeded")
        self.args = (name, limit)
        self.name = name
        self.limit = limit
