"""The virtual environment that the peers are installed in."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_FOLDER = Path(__file__).resolve().parents[1] / ".venv-bench"


def enter(module: str, argv: Sequence[str]) -> None:
    """Go on in the virtual environment of the benchmark; make it first if need be.

    Args:
        module: What to run there, as `python -m` takes it.
        argv: Its arguments.
    """
    if Path(sys.prefix).resolve() == _FOLDER.resolve():
        return
    # Only here: whoever runs with --here needs no script of the repository.
    from scripts.environments import ensure

    python = ensure(_FOLDER, "bench", python=sys.executable)
    os.execv(python, [str(python), "-m", module, *argv])
