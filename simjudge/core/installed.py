"""Where the files are that come with simjudge: in the checkout, or where pip or colcon installed them."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def roots() -> list[Path]:
    """The folders that have config/ and models/ in them, the checkout first."""
    package = Path(__file__).resolve().parents[1]
    prefixes = [Path(each) for each in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if each]
    # colcon and pip install into PREFIX/lib/pythonX.Y/site-packages, Debian sometimes a folder deeper.
    prefixes += [Path(sys.prefix), *package.parents[:6]]
    shares = [prefix / "share" / "simjudge" for prefix in prefixes]
    return [package.parent, *(share for share in dict.fromkeys(shares) if share.is_dir())]
