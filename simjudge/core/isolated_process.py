"""Readers that a damaged file may end, run in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from simjudge.core import isolated_readers
from simjudge.core.errors import SimjudgeError
from simjudge.core.input_files import LARGEST_TEXT, check_file


def read_isolated(reader: str, path: Path, refusal: str) -> Any:
    """What a function of `isolated_readers` gives for a file.

    Args:
        refusal: what is wrong with a file that it cannot read, and the remedy.
    """
    check_file(path, LARGEST_TEXT)
    words = [sys.executable, isolated_readers.__file__, reader, str(path)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise SimjudgeError(f"{path}: {refusal}")
    return json.loads(done.stdout)
