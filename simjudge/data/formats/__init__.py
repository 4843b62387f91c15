"""Data formats: one module or one package each, found by looking into this folder.

To add a format, add one file here, such as `kitti.py`, with

1. a function that tells whether a file or folder is of the format, from a `Source`,
2. a function that reads one into a `FrameSet`, and perhaps one that writes one,
3. `FORMATS = (Format("kitti", ...),)`, which names them.

Nothing else needs to know the file: `read_set`, `write_set`, `convert --to`, `split --to` and `info` go through
`all_formats`. Its test is `test/data/formats/test_kitti.py`, its page a row of the table in docs/reference/formats.md;
the tests of round trips and of that table take it in by themselves.

`simjudge/data/format_support/` has what formats share: `RawRows` checks boxes and counts what cannot be used,
`image_files` lists and writes images, `mask_codec` turns masks into polygons and run lengths, and a `Sidecar` keeps
what the format itself cannot hold.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from simjudge.data.format_support.image_files import Format


@cache
def all_formats() -> tuple[Format, ...]:
    """Find all formats: the `FORMATS` of each module and package in this folder."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return tuple(sorted((form for module in modules for form in module.FORMATS), key=lambda form: form.order))


def folder_formats() -> tuple[Format, ...]:
    """List the formats that are written as a folder, by name."""
    folders = [form for form in all_formats() if form.write is not None and not form.suffixes]
    return tuple(sorted(folders, key=lambda form: form.name))


def file_suffixes() -> dict[str, Format]:
    """List the formats that are written as a file: the formats by the ending of the file's name, such as ".mcap"."""
    return {suffix: form for form in all_formats() for suffix in form.suffixes if form.write is not None}
