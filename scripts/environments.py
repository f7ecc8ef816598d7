"""Virtual environments for the checks and the benchmark, made when they are needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "ensure", "find_interpreters", "run"]

ROOT = Path(__file__).resolve().parents[1]

# The first release of pip that installs dependency groups.
_PIP = "pip>=25.1"


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command and show what it prints.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    subprocess.run([str(word) for word in command], cwd=cwd, check=True)


def ensure(folder: Path, *groups: str, python: str = sys.executable, project: bool = True) -> Path:
    """Return the interpreter of a virtual environment, making it where it is missing or outdated.

    Args:
        folder: Where the environment is.
        groups: The dependency groups of pyproject.toml that it needs.
        python: The interpreter that it is made with.
        project: Whether the project is installed in it, as an editable install.

    Raises:
        subprocess.CalledProcessError: It could not be made.
    """
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "made-from"
    made_from = _fingerprint(python, *groups)
    if interpreter.exists() and stamp.exists() and stamp.read_text("utf-8") == made_from:
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    run(interpreter, "-m", "pip", "install", "--quiet", "--upgrade", _PIP)
    wanted = [word for group in groups for word in ("--group", group)]
    if project:
        wanted += ["--editable", str(ROOT)]
    run(interpreter, "-m", "pip", "install", "--quiet", *wanted)
    stamp.write_text(made_from, "utf-8")
    return interpreter


def _fingerprint(python: str, *groups: str) -> str:
    code = "import sys; print(sys.base_prefix, sys.version)"
    version = subprocess.run([python, "-c", code], check=True, capture_output=True).stdout
    pyproject = (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(b"\0".join((version, pyproject, repr(groups).encode()))).hexdigest()


def find_interpreters(versions: list[str]) -> dict[str, str]:
    """Return where the interpreters of these versions ("3.13") are, as far as there are any.

    Looked for on the path and among those of pyenv, whose commands on the path work only for the
    versions that it has been told to use.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for version in versions:
        candidates = [sys.executable, shutil.which(f"python{version}")]
        candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
        for candidate in candidates:
            if candidate and _version(candidate) == version:
                found[version] = candidate
                break
    return found


def _version(python: str) -> str | None:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
