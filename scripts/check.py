"""Run the whole check: format, lint, types, tests with coverage, build, tests of the wheel.

It makes the virtual environments that it needs (`.venv`, `.venv-3.10`, …) and uses them again. With
arguments it runs only the steps that they name.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

# Run as a script, this file has its own folder on the path and not the project's.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.environments import ROOT, ensure, find_interpreters, run

if TYPE_CHECKING:
    from collections.abc import Callable

VERSIONS = ["3.10", "3.11", "3.12", "3.13"]
# In two processes: those of the adapters wait for a server most of their time.
TESTS = ["pytest", "-q", "-n", "2"]
INSTALLED = ["tests/adapters", "tests/cli", "tests/test_boundary.py", "tests/test_readme.py"]


def python() -> Path:
    """Return the interpreter with the development tools."""
    return ensure(ROOT / ".venv", "dev")


def check_format() -> None:
    """Check the formatting."""
    run(python(), "-m", "ruff", "format", "--check", ".")


def check_lint() -> None:
    """Run the linter."""
    run(python(), "-m", "ruff", "check", ".")


def check_mypy() -> None:
    """Run mypy, strict."""
    run(python(), "-m", "mypy")


def check_pyright() -> None:
    """Run pyright, strict."""
    run(python(), "-m", "pyright", "--pythonpath", python())


def check_coverage() -> None:
    """Run the tests of the core and require every branch of it to be covered."""
    run(python(), "-m", "coverage", "erase")
    run(python(), "-m", "coverage", "run", "-m", *TESTS, "--ignore", "tests/adapters")
    run(python(), "-m", "coverage", "combine", "--quiet")
    run(python(), "-m", "coverage", "report", "--skip-covered")


def check_tests() -> None:
    """Build the distributions, and test the wheel on each supported Python that is found.

    Outside the checkout, so that what is tested is what is installed. On the version that the
    coverage step runs on, that step has run the tests of the core: here are the others, and those
    of what is installed.
    """
    interpreters = find_interpreters(VERSIONS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run(python(), "-m", "build", "--outdir", folder / "dist")
        (wheel,) = (folder / "dist").glob("*.whl")
        for name in ("docs", "tests"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, folder)
        for version in VERSIONS:
            if version not in interpreters:
                print(f"Python {version}: not found, not tested")
                continue
            found = interpreters[version]
            print(f"Python {version}: {found}", flush=True)
            environment = ensure(ROOT / f".venv-{version}", "test", python=found, project=False)
            install = ["pip", "install", "--quiet", "--no-index", "--force-reinstall", "--no-deps"]
            run(environment, "-m", *install, wheel)
            covered = version == "{}.{}".format(*sys.version_info)
            run(environment, "-m", *TESTS, "-o", "pythonpath=", *INSTALLED * covered, cwd=folder)


STEPS: dict[str, Callable[[], None]] = {
    "format": check_format,
    "lint": check_lint,
    "mypy": check_mypy,
    "pyright": check_pyright,
    "coverage": check_coverage,
    "tests": check_tests,
}


def main() -> int:
    """Run the steps in order, the first failure ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; default: all, in order"
    )
    chosen: list[str] = parser.parse_args().steps or list(STEPS)
    for step in chosen:
        if step not in STEPS:
            parser.error(f"there is no step {step!r}, only {', '.join(STEPS)}")
    for step in chosen:
        print(f"== {step}", flush=True)
        begin = time.monotonic()
        try:
            STEPS[step]()
        except subprocess.CalledProcessError as error:
            print(f"== {step} failed: {error}", file=sys.stderr)
            return 1
        print(f"== {step} passed in {time.monotonic() - begin:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
