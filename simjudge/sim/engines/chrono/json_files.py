"""Chrono::Vehicle's JSON files, looked at before Chrono reads them: what it is given wrong ends the whole process.

The keys and templates are those of `ChVehicleUtilsJSON.cpp` and `WheeledVehicle.cpp` (9.0.1 to 7689fbc0). Comments
(`//` and `/* */`) may stand in them. What is inside of a template's file Chrono alone knows: `json_trial.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simjudge.core.errors import SimjudgeError
from simjudge.core.files import LARGEST_TEXT, read_bytes
from simjudge.sim.vehicle.vehicle import ChronoParts

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TIRES = ("TMeasyTire", "TMsimpleTire", "FialaTire", "Pac89Tire", "Pac02Tire")
"""Tyres that compute their force; rigid ones and those of finite elements touch the ground as bodies do, and the
ground of a scene here is one that is asked for its height."""
_PARTS = {"vehicle": "Vehicle", "engine": "Engine", "transmission": "Transmission", "tire": "Tire"}


def check_chrono_files(parts: ChronoParts, data: Path) -> tuple[Path, Path, Path, Path]:
    """Find the files of a vehicle, and refuse what this engine cannot drive."""
    found = {part: data / getattr(parts, part) for part in _PARTS}
    content = {part: _read(path, _PARTS[part], data) for part, path in found.items()}
    _check_vehicle(found["vehicle"], content["vehicle"], data)
    template = content["tire"]["Template"]
    if template not in _TIRES:
        raise SimjudgeError(f"{found['tire']}: {template!r}: a tyre of force is needed, one of {', '.join(_TIRES)}")
    return found["vehicle"], found["engine"], found["transmission"], found["tire"]


def _check_vehicle(path: Path, content: dict[str, Any], data: Path) -> None:
    if content["Template"] != "WheeledVehicle":
        raise SimjudgeError(f'{path}: template {content["Template"]!r}: "WheeledVehicle" is needed')
    axles = content.get("Axles")
    if not isinstance(axles, list) or len(axles) != 2 or not all(isinstance(axle, dict) for axle in axles):
        count = len(axles) if isinstance(axles, list) else "no"
        raise SimjudgeError(f"{path}: {count} axles: two are needed, the front one first")
    if any("Wheel Separation" in axle for axle in axles):
        raise SimjudgeError(f"{path}: twin wheels: one wheel on each side is needed")
    if "Steering Index" not in axles[0] or "Steering Index" in axles[1]:
        raise SimjudgeError(f'{path}: "Steering Index" is needed for the first axle, and for no other')
    needed = ("Suspension", "Left Wheel", "Right Wheel")
    for number, axle in enumerate(axles, 1):
        for key in (f"{each} Input File" for each in needed):
            if not isinstance(axle.get(key), str):
                raise SimjudgeError(f'{path}: axle {number}: "{key}" is missing')
    if not isinstance(content.get("Chassis"), dict) or not isinstance(content["Chassis"].get("Input File"), str):
        raise SimjudgeError(f'{path}: "Chassis" with an "Input File" is needed')
    for named in _named_files(content):
        _read(data / named, None, data, path)


def _named_files(content: Any) -> Iterator[str]:
    """What stands under keys that end with "Input File", at any depth."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key.endswith("Input File") and isinstance(value, str):
                yield value
            else:
                yield from _named_files(value)
    elif isinstance(content, list):
        for each in content:
            yield from _named_files(each)


def _read(path: Path, kind: str | None, data: Path, named_by: Path | None = None) -> dict[str, Any]:
    """A file's content; it has a type, `kind` where that is known, and a template."""
    try:
        text = read_bytes(path, LARGEST_TEXT).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SimjudgeError(f"{path}: no UTF-8 text") from error
    except (OSError, SimjudgeError) as error:
        by = f", which {named_by.name} names" if named_by is not None else ""
        raise SimjudgeError(
            f"{path}: no such file{by}; Chrono's vehicle data is looked for in {data}: write data: FOLDER under chrono:"
            " in the vehicle's file"
        ) from error
    try:
        content = json.loads(_COMMENT.sub(lambda found: found[1] or " ", text))
    except (ValueError, RecursionError) as error:
        raise SimjudgeError(f"{path}: no JSON: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), str) for key in ("Type", "Template")):
        raise SimjudgeError(f'{path}: no file of Chrono::Vehicle: "Type" and "Template" are needed')
    if kind is not None and content["Type"] != kind:
        raise SimjudgeError(f'{path}: type {content["Type"]!r}: "{kind}" is needed')
    return content
