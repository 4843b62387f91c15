"""Tubs of donkeycar: the pictures of a drive with their times; steering and throttle are not read.

Version 2 has `manifest.json`, `catalog_*.catalog` with a JSON record a line, and `images/`. Version 1 has a file
`record_N.json` for each picture beside it. The format: https://github.com/autorope/donkeycar,
donkeycar/parts/datastore_v2.py and datastore.py.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.frames import FrameSet
from simjudge.core.images import FileImages
from simjudge.core.names import NO_STAMP
from simjudge.core.text import load_json, one_line, parse_integer, read_text
from simjudge.data.format_support.image_files import Format, count_images_aside, find_file, readable_images

log = logging.getLogger(__name__)

_MANIFEST, _CATALOGS, _RECORDS = "manifest.json", "catalog_*.catalog", "record_*.json"
_PICTURE = "cam/image_array"
_TIMES = ("_timestamp_ms", "milliseconds")
_MILLISECOND = 1_000_000
_LATEST_MS = 2**63 // _MILLISECOND - 1


def is_tub(path: Path) -> bool:
    """Tell whether a path is a tub."""
    if not path.is_dir():
        return False
    if (path / _MANIFEST).is_file() and any(path.glob(_CATALOGS)):
        return True
    first = next(path.glob(_RECORDS), None)
    return first is not None and _PICTURE in first.read_bytes()[:4096].decode("utf-8", "replace")


def read_tub(path: Path) -> FrameSet:
    """Read the pictures of a tub, in order of their records, with the times of these."""
    losses = Losses()
    deleted = _deleted(path)
    stamp: dict[Path, int] = {}
    session: dict[Path, str] = {}
    skipped, unused = 0, set[Path | None]()
    for where, record in _records(path, losses):
        name, number = record.get(_PICTURE), record.get("_index")
        if number in deleted:
            skipped += 1
            unused.add(_picture(path, str(name)))
            continue
        file = None if not isinstance(name, str) or not name else _picture(path, name)
        if file is None:
            losses.add("records whose picture is not there", f"{where} ({one_line(name)})")
        elif file in stamp:
            losses.add("records of a picture that another has", where)
        else:
            stamp[file] = _time(record)
            session[file] = str(record.get("_session_id") or "")
    count_images_aside(path, {*stamp, *(picture for picture in unused if picture is not None)}, losses)
    if skipped:
        log.warning("%s: %d records are marked as deleted in the tub; left out", path, skipped)
    images, size = readable_images(list(stamp), losses)
    if not images:
        raise SimjudgeError(f"{path}: holds no picture that can be read{losses.reason}")
    return FrameSet.build(
        path.name,
        size,
        frame_name=[image.stem for image in images],
        stamp=[stamp[image] for image in images],
        recording=[session[image] for image in images] if all(session[image] for image in images) else (),
        images=FileImages(images),
        losses=losses,
    )


def _records(path: Path, losses: Losses) -> Iterator[tuple[str, dict[str, object]]]:
    catalogs = sorted(path.glob(_CATALOGS), key=_number)
    if not catalogs:
        for file in sorted(path.glob(_RECORDS), key=_number):
            try:
                record = load_json(file)
            except SimjudgeError:
                record = None
            if isinstance(record, dict):
                yield str(file), record
            else:
                losses.add("records that cannot be read", str(file))
        return
    for catalog in catalogs:
        for row, line in enumerate(read_text(catalog).splitlines(), 1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                yield f"{catalog}:{row}", record
            elif line.strip("\0 "):
                losses.add("records that cannot be read", f"{catalog}:{row}")


def _deleted(path: Path) -> set[Any]:
    """The numbers of records that the manifest's last line calls deleted."""
    lines = read_text(path / _MANIFEST).splitlines() if (path / _MANIFEST).is_file() else []
    try:
        said = json.loads(lines[-1])["deleted_indexes"]
        return {number for number in said if isinstance(number, int)}
    except (ValueError, RecursionError, IndexError, KeyError, TypeError):
        return set()


def _picture(path: Path, name: str) -> Path | None:
    return find_file((path / "images", path), (name,))


def _time(record: dict[str, object]) -> int:
    """Nanoseconds; NO_STAMP where the record has no time."""
    known = (parse_integer(record.get(key)) for key in _TIMES if not isinstance(record.get(key), bool))
    time = next((candidate for candidate in known if candidate is not None and 0 <= candidate < _LATEST_MS), None)
    return NO_STAMP if time is None else time * _MILLISECOND


def _number(file: Path) -> tuple[int, str]:
    found = re.search(r"_(\d{1,18})\.", file.name)
    return (int(found[1]) if found else 0, file.name)


# What donkeycar records while somebody drives.
FORMATS = (
    Format(
        "donkeycar",
        "donkeycar",
        "a tub of donkeycar (manifest.json and catalog_0.catalog)",
        lambda source: is_tub(source.path),
        28,
        read=lambda source, _options: read_tub(source.path),
    ),
)
