"""Where sans-IO ends: what the core may import, and that it is whole and portable."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import typing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sansio_sse
import sansio_sse.llm
import sansio_sse.testing

if TYPE_CHECKING:
    from types import ModuleType

CORE = Path(sansio_sse.__file__).parent
VECTORS = Path(__file__).parent / "vectors" / "parser.json"

# Nothing here does I/O, looks at the machine or has state that a caller could see.
ALLOWED = {
    "__future__",
    "abc",
    "codecs",
    "collections",
    "collections.abc",
    "contextlib",
    # For the dates of `Retry-After`. That it could tell the time is what CLOCK is for.
    "datetime",
    # The states of a source, and what can come to it.
    "enum",
    "itertools",
    "json",
    # What is finite.
    "math",
    "re",
    "types",
    "typing",
}
# The command line is the one part that does I/O.
COMMAND_LINE = {"_cli", "__main__.py"}

# What would do I/O without an import.
FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}

# Time is an argument, and so is the time zone, which is UTC.
CLOCK = {"now", "utcnow", "today", "fromtimestamp", "localtime", "astimezone", "time", "monotonic"}


def core_files() -> list[Path]:
    return [
        path
        for path in sorted(CORE.rglob("*.py"))
        if path.relative_to(CORE).parts[0] not in COMMAND_LINE
    ]


def public_modules() -> list[ModuleType]:
    return [sansio_sse, sansio_sse.llm, sansio_sse.testing]


def public_names() -> list[tuple[str, object]]:
    return [
        (f"{module.__name__}.{name}", getattr(module, name))
        for module in public_modules()
        for name in module.__all__
    ]


def test_there_is_a_core_to_look_at() -> None:
    names = {path.name for path in core_files()}
    assert {"_parser.py", "_encoder.py", "_event_source.py", "_backoff.py"} < names
    assert {"_assembler.py", "chat_completions.py", "responses.py", "messages.py"} < names


@pytest.mark.parametrize("path", core_files(), ids=lambda path: path.name)
def test_core_imports_only_what_is_allowed(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= ALLOWED
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module in ALLOWED
        elif isinstance(node, ast.ImportFrom):
            assert "_cli" not in (node.module or "")


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: path.name)
def test_package_imports_itself_by_relative_imports_alone(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        assert not any(name.split(".")[0].startswith("sansio_sse") for name in names)


@pytest.mark.parametrize("path", core_files(), ids=lambda path: path.name)
def test_core_does_no_io_and_keeps_no_state(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS
        assert not isinstance(node, ast.Global)
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            mutable = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
            assert target == "__all__" or not isinstance(node.value, mutable)


@pytest.mark.parametrize("path", core_files(), ids=lambda path: path.name)
def test_core_looks_at_no_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in CLOCK


@pytest.mark.parametrize("name", ["sansio_sse", "sansio_sse.llm"])
def test_importing_the_core_pulls_in_nothing_heavy(name: str) -> None:
    code = f"""
import sys
before = set(sys.modules)
import {name}
print(*set(sys.modules) - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=CORE.parent,
    )
    heavy = {
        "asyncio",
        "socket",
        "ssl",
        "email",
        "http",
        "inspect",
        "logging",
        "argparse",
        "random",
    }
    assert not heavy & {name.split(".")[0] for name in done.stdout.split()}


def test_copy_under_another_name_passes_the_vectors(tmp_path: Path) -> None:
    package = tmp_path / "vendored" / "_sse"
    package.parent.mkdir()
    (package.parent / "__init__.py").touch()
    shutil.copytree(CORE, package, ignore=shutil.ignore_patterns("__pycache__"))
    code = f"""
import json, sys
import vendored._sse as sse
import vendored._sse.testing
for vector in json.load(open({str(VECTORS)!r}, encoding="utf-8")):
    data = vector["bytes"].encode("latin-1")
    for chunks in ([data], [data[i : i + 1] for i in range(len(data))]):
        events = list(sse.iter_events(chunks))
        seen = [[event.type, event.data, event.last_event_id] for event in events]
        assert seen == [list(event.values()) for event in vector["events"]], vector["id"]
        assert [event for event in events if not isinstance(event, sse.Event)] == []
assert not [name for name in sys.modules if name.startswith("sansio_sse")]
print("passed")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == "passed\n"


def test_vector_events_are_in_the_order_that_the_copy_is_compared_in() -> None:
    for vector in json.loads(VECTORS.read_text("utf-8")):
        for event in vector["events"]:
            assert list(event) == ["type", "data", "last_event_id"]


def adapter_files() -> list[Path]:
    spec = importlib.util.find_spec("sansio_sse_adapters")
    assert spec is not None
    assert spec.origin is not None
    return sorted(Path(spec.origin).parent.rglob("*.py"))


@pytest.mark.parametrize("path", adapter_files(), ids=lambda path: path.name)
def test_adapters_use_nothing_private(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
            if modules[0].split(".")[0] == "sansio_sse":
                assert not [alias.name for alias in node.names if alias.name.startswith("_")]
        for module in modules:
            if module.split(".")[0] == "sansio_sse":
                assert not re.search(r"\._", module)


def test_adapters_are_typed_and_installed_beside_the_core() -> None:
    assert (adapter_files()[0].parent / "py.typed").exists()
    assert (CORE / "py.typed").exists()


def test_public_names_are_these() -> None:
    assert sansio_sse.__all__ == [
        "DEFAULT_MAX_EVENT_BYTES",
        "MAX_ERROR_BODY_BYTES",
        "RESPONSE_HEADERS",
        "RETRYABLE_STATUSES",
        "Action",
        "Backoff",
        "Comment",
        "Connect",
        "Event",
        "EventSourceProtocol",
        "EventStreamParser",
        "EventTooLarge",
        "Item",
        "LocalProtocolError",
        "Progress",
        "ReadyState",
        "Receive",
        "RemoteProtocolError",
        "Request",
        "Retry",
        "SSEError",
        "Stop",
        "UnexpectedContentType",
        "UnexpectedStatus",
        "UnknownField",
        "Wait",
        "aiter_events",
        "check_response",
        "encode",
        "encode_comment",
        "encode_retry",
        "iter_events",
        "parse",
        "retry_after",
    ]
    assert sansio_sse.testing.__all__ == ["chunkings", "replay"]
    assert sansio_sse.llm.__all__ == [
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
    for module in public_modules():
        for name in module.__all__:
            assert hasattr(module, name)


def test_every_module_declares_what_others_may_import() -> None:
    for package in (sansio_sse, sansio_sse.llm):
        for info in pkgutil.iter_modules(package.__path__):
            if info.name not in {"_cli", "__main__"}:
                module = importlib.import_module(f"{package.__name__}.{info.name}")
                assert module.__all__, info.name
                assert set(module.__all__) <= set(vars(module))


def documented_constants() -> set[str]:
    """The names that are assigned at the top of a module, right before a text."""
    names: set[str] = set()
    for path in core_files():
        body = ast.parse(path.read_text("utf-8")).body
        for statement, behind in pairwise(body):
            match statement, behind:
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str())),
                ):
                    names.add(name)
                case _:
                    pass
    return names


@pytest.mark.parametrize(
    ("name", "thing"), public_names(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_public_name_is_documented_and_typed(name: str, thing: object) -> None:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        assert name.rpartition(".")[2] in documented_constants()
        return
    # Its own text, not one that it inherits.
    assert vars(thing).get("__doc__", thing.__doc__), name
    functions = [thing] if inspect.isfunction(thing) else []
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        function = value.fget if isinstance(value, property) else value
        if member.startswith("_") or not inspect.isfunction(function):
            continue
        assert function.__doc__, f"{name}.{member}"
        functions.append(function)
    for function in functions:
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty
        for parameter in signature.parameters.values():
            assert parameter.name == "self" or (parameter.annotation is not inspect.Parameter.empty)


def test_annotations_of_values_resolve_at_run_time() -> None:
    hints = typing.get_type_hints(sansio_sse.Event)
    assert hints == {"type": str, "data": str, "id": str | None, "last_event_id": str}


def test_version_is_that_of_the_distribution() -> None:
    assert importlib.metadata.version("sansio-sse") == sansio_sse.__version__
