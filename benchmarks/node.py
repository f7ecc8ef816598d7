"""The npm package eventsource-parser, timed inside a node process of its own.

It stands for what the same work costs on V8. The process waits for a word between passes, so it
takes its turns with the Python decoders.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .cases import Pair, Stream
from .checking import difference
from .timing import Pass

NAME = "eventsource-parser"
_FOLDER = Path(__file__).parent / "node"
_INSTALL_SECONDS = 180


class NotAvailableError(Exception):
    """There is no eventsource-parser to run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that has the package.

    Attributes:
        program: Where node is.
        version: The version of node.
        package_version: The version of eventsource-parser.
    """

    program: str
    version: str
    package_version: str

    def check(self, stream: Stream, seconds: float) -> str | None:
        """Compare its events with the expected ones; return what is wrong, or None."""
        with _stream_file(stream.chunks) as path:
            try:
                done = subprocess.run(
                    [self.program, str(_FOLDER / "decode.mjs"), path],
                    input="events\n",
                    capture_output=True,
                    encoding="utf-8",
                    timeout=seconds,
                    check=True,
                )
            except subprocess.TimeoutExpired:
                return f"> {seconds:g} s"
            except subprocess.CalledProcessError:
                return "ends the process"
        got: list[Pair] = [(str(name), str(data)) for name, data in json.loads(done.stdout)]
        return difference(stream.expected, got)

    @contextmanager
    def passes(self, stream: Stream) -> Generator[Pass, None, None]:
        """Start a process that holds the stream; give what runs one pass in it."""
        with (
            _stream_file(stream.chunks) as path,
            subprocess.Popen(
                [self.program, str(_FOLDER / "decode.mjs"), path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="ascii",
                bufsize=1,
            ) as process,
        ):
            # Popen gives None only for streams that it was not asked to open.
            assert process.stdin is not None
            assert process.stdout is not None
            yield _asking(process.stdin, process.stdout)


def _asking(commands: IO[str], answers: IO[str]) -> Pass:
    def run() -> int:
        commands.write("time\n")
        return int(answers.readline())

    return run


@contextmanager
def _stream_file(chunks: Sequence[bytes]) -> Generator[str, None, None]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        path.write_bytes(b"".join(len(c).to_bytes(4, "little") + c for c in chunks))
        yield str(path)


def find() -> Node:
    """Find node and install the pinned package beside `node/package.json`, unless it is there.

    Raises:
        NotAvailableError: There is no node or no npm, or npm cannot install the package.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NotAvailableError("node not found" if node is None else "npm not found")
    pinned = str(_manifest(_FOLDER)["dependencies"][NAME])
    package = _FOLDER / "node_modules" / NAME
    try:
        if not package.is_dir() or _manifest(package)["version"] != pinned:
            subprocess.run(
                [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"],
                cwd=_FOLDER,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_INSTALL_SECONDS,
                check=True,
            )
        version = subprocess.run(
            [node, "--version"], capture_output=True, encoding="ascii", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotAvailableError(f"npm install failed ({type(error).__name__})") from error
    return Node(node, version.stdout.strip().removeprefix("v"), pinned)


def _manifest(folder: Path) -> Any:
    return json.loads((folder / "package.json").read_text("utf-8"))
