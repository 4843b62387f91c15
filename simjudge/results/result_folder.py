"""Result folders on disk (docs/reference/results.md): whole or absent, replaced only where an earlier result stood."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.files import atomic_file, atomic_folder, output_path

RESULT, CONTEXTS, SWEEP = "result.json", "contexts.parquet", "sweep.json"
OBJECTS, SERIES, PICTURES = "objects.json", "series.parquet", "pictures"
SETS, SETS_TABLE, EXAMPLES = "sets.json", "sets.csv", "examples"
ABLATION, ABLATION_TABLE = "ablation.json", "ablation.csv"
STUDY_FILE = "study.json"
DRIVES, WINDOWS, LINES = "drives.json", "windows.parquet", "lines.parquet"
_OURS = {RESULT, CONTEXTS, SWEEP, OBJECTS, SERIES, PICTURES, SETS, SETS_TABLE, ABLATION, ABLATION_TABLE}
_OURS |= {DRIVES, WINDOWS, LINES, EXAMPLES, "gallery", "report.html"}


@contextmanager
def atomic_result(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` once everything is in it.

    An earlier result under that name is replaced; a folder that holds anything else is refused.
    """
    check_result_folder(folder)
    with atomic_folder(folder, overwrite=True) as temporary:
        yield temporary


def check_result_folder(folder: Path) -> bool:
    """Refuse a place where a result must not be written, before the work is done."""
    folder = output_path(folder)
    if folder.is_file():
        raise SimjudgeError(f"{folder}: is a file; --out must be a folder")
    if folder.is_dir():
        strangers = sorted(path.name for path in folder.iterdir() if path.name not in _OURS)
        if strangers:
            raise SimjudgeError(f"{folder}: holds {strangers[0]!r}, which no result has; choose another --out")
        return any(folder.iterdir())
    return False


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write readable JSON, refusing numbers that JSON does not have."""
    with atomic_file(path) as temporary:
        text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a CSV table whose columns are all that any row has, in order of appearance.

    Args:
        rows: cells by column; a row leaves empty what it has not.
    """
    held = list(rows)
    columns = list(dict.fromkeys(name for row in held for name in row))
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(held)


def refuse_studies(folders: Sequence[Path], names: Sequence[str]) -> None:
    """Refuse the folder of a study where a result is needed, and name one in it."""
    for folder in (each for each in folders if (each / STUDY_FILE).is_file()):
        places = [f"{place}/{name}" for name in names for place in ("*", "*/examples/*")]
        found = [path.parent for place in places for path in folder.glob(place)]
        inside = f"; give a result in it, such as {min(found)}" if found else ""
        raise UsageError(f"{folder}: is the folder of a study, whose page simjudge study report makes{inside}")
