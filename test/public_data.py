"""Public data that is no part of the project: where tests look for it, and how they are skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PUBLIC_DATA = Path(os.environ.get("SIMJUDGE_PUBLIC_DATA", Path(__file__).parents[2] / "shared" / "data"))


def missing(name: str) -> str:
    """What a test says that needs `name`, which is absent."""
    return f"needs public data: {name} in {PUBLIC_DATA}; scripts/fetch_data.py says where it comes from"


def public_data(name: str) -> Path:
    """The path of a set or of a file of one; the test is skipped where it is absent."""
    path = PUBLIC_DATA / name
    if not path.exists():
        pytest.skip(missing(name))
    return path


def needs(name: str) -> pytest.MarkDecorator:
    """Mark of a test that is skipped where a set is absent."""
    return pytest.mark.skipif(not (PUBLIC_DATA / name).exists(), reason=missing(name))
