"""LLM streams without I/O: events in, one complete, checked answer out."""

from ._any import DIALECTS, AnyAssembler
from ._assemble import assemble, assemble_chunks
from ._assembler import Assembler
from ._completion import (
    Choice,
    Completion,
    Finding,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    Usage,
)
from ._detect import detect
from ._errors import (
    AssemblyError,
    IncompleteStream,
    InvalidPayload,
    InvalidToolCall,
    LimitExceeded,
    ProviderError,
)
from ._limits import Limits
from ._provider import read_error_body
from ._updates import (
    Finished,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStarted,
    Update,
    UsageUpdate,
)
from .chat_completions import ChatCompletionsAssembler
from .generate_content import GenerateContentAssembler
from .messages import MessagesAssembler
from .responses import ResponsesAssembler

__all__ = [
    "DIALECTS",
    "AnyAssembler",
    "Assembler",
    "AssemblyError",
    "ChatCompletionsAssembler",
    "Choice",
    "Completion",
    "Finding",
    "Finished",
    "GenerateContentAssembler",
    "IncompleteStream",
    "InvalidPayload",
    "InvalidToolCall",
    "LimitExceeded",
    "Limits",
    "MessagesAssembler",
    "Part",
    "ProviderError",
    "ReasoningDelta",
    "ReasoningPart",
    "RefusalDelta",
    "RefusalPart",
    "ResponsesAssembler",
    "TextDelta",
    "TextPart",
    "ToolArgumentsDelta",
    "ToolCall",
    "ToolCallStarted",
    "Update",
    "Usage",
    "UsageUpdate",
    "assemble",
    "assemble_chunks",
    "detect",
    "read_error_body",
]
