"""Where the files of config/ and launch/ are, and what programs this machine has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from simjudge.core.errors import SimjudgeError
from simjudge.core.installed import roots


def installed_file(name: str) -> Path:
    """A file that comes with simjudge, e.g. "config/art1.yaml": in the checkout, else as pip or colcon installed it.

    Raises:
        SimjudgeError: it is nowhere.
    """
    for root in roots():
        if (root / name).is_file():
            return root / name
    raise SimjudgeError(f"{name} is not where simjudge is installed; install simjudge again")


def named_file(spec: str, folder: str, suffix: str) -> Path:
    """A file by its path, or by its bare name one that comes with simjudge: "art1" for config/art1.yaml.

    Raises:
        SimjudgeError: there is no such file.
    """
    if Path(spec).is_file():
        return Path(spec)
    if "/" not in spec:
        for root in roots():
            if (root / folder / f"{spec.removesuffix(suffix)}{suffix}").is_file():
                return root / folder / f"{spec.removesuffix(suffix)}{suffix}"
    known = sorted({p.stem for root in roots() for p in (root / folder).glob(f"*{suffix}")})
    raise SimjudgeError(f"{spec}: no such file; those that come with simjudge: {', '.join(known) or 'none'}")


def has_rviz() -> bool:
    """Whether RViz can be shown: it is installed, and there is a screen."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and shutil.which("rviz2") is not None
