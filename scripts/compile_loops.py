"""Compile once what many tests need, before several workers would each do so: the loops of the method, those of rays.

Nothing to do where an earlier run, of whatever clone, has left them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from simjudge.core.numba_cache import SharedLoops

ROOT = Path(__file__).parents[1]
SAMPLES = [str(ROOT / "bags" / name) for name in ("real_stand_in.mcap", "sim.mcap")]
MODEL = ["--model", "cones_red_green"]
COMMANDS = {
    "simjudge.method.similarity_join": ["plan", *SAMPLES, *MODEL, "--gap", "0.05"],
    "simjudge.sim.capture.silhouette": ["render", "lab", "--camera", "plain", "-n", "1", "--out", "made"],
}
"""What enters the loops of a module and of those that it calls."""


def is_missing(module: str) -> bool:
    """Whether nothing that was compiled of a module is kept; where it cannot be kept, nothing is missing."""
    import_module(module)
    folder = SharedLoops.folder(module)
    return folder is not None and not any(folder.glob("*.nbi"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        started = {
            subprocess.Popen(
                [sys.executable, "-m", "simjudge", *words],
                cwd=place,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ): words
            for module, words in COMMANDS.items()
            if is_missing(module)
        }
        for process, words in started.items():
            if process.wait():  # the tests will say why
                sys.stderr.write(f"compiling: simjudge {' '.join(words)} ended with {process.returncode}\n")
