"""What several suites use."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def rxla():
    """The command: that of the variable RXLA_CLI, or built here."""
    if "RXLA_CLI" in os.environ:
        return str(ROOT / os.environ["RXLA_CLI"])
    subprocess.run(["cargo", "build", "-q", "-p", "rxla-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/debug/rxla")
