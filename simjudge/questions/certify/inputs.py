"""What a dossier says of the sets that were compared: digests, whether they are still the same, scene and camera."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from simjudge.core.errors import Losses
from simjudge.core.files import hash_files
from simjudge.results.saved_result import Result
from simjudge.sim.capture.render_record import render_record_path

UNCHANGED, CHANGED, NOT_FOUND = "unchanged", "changed since", "not looked for: not found"


def describe_inputs(result: Result, losses: Losses) -> list[dict[str, Any]]:
    """What was compared, and whether it is still the same where it can be found.

    Returns:
        For A, then B, the facts of dossier.json; "rendered" is None where simjudge did not render the set, or where
        nothing says how.
    """
    found = []
    for side in ("a", "b"):
        given = result.header["inputs"].get(side) or {}
        detector = given.get("detector") or {}
        now, path = NOT_FOUND, Path(given.get("path") or "")
        if given.get("sha256") and given.get("path") and path.exists():
            now = UNCHANGED if hash_files(path) == given["sha256"] else CHANGED
            if now == CHANGED:
                losses.add("inputs that have changed since they were compared", f"{result.name}: {path}")
        found.append({
            "set": side.upper(), "name": given.get("name") or side.upper(), "path": given.get("path") or "",
            "sha256": given.get("sha256") or "", "now": now, "format": given.get("format", ""),
            "frames": given.get("frames") or 0, "objects": given.get("objects") or 0, "units": given["units"],
            "detector": detector.get("name", "predictions as they were in the file"),
            "detector_sha256": detector.get("sha256", ""),
            "rendered": _rendering(path, result.name, losses) if now == UNCHANGED else None,
        })  # fmt: skip
    return found


def _rendering(path: Path, name: str, losses: Losses) -> dict[str, Any] | None:
    """Scene, camera, seed and engine of a rendered set, from the file that `simjudge render` put beside it."""
    record = render_record_path(path)
    try:
        content = record.read_bytes()
    except OSError:
        return None
    try:
        said = json.loads(content)
        return {
            "scene": said["scene"]["name"],
            "scene_sha256": said["scene"]["sha256"],
            "camera": said["camera"]["name"],
            "camera_sha256": said["camera"]["sha256"],
            "seed": int(said["seed"]),
            "engine": f"{said['engine']['name']}, {said['engine']['variant']}",
            "simjudge": said["version"],
            "record_sha256": hashlib.sha256(content).hexdigest(),
        }
    except (ValueError, KeyError, TypeError):
        losses.add("records of a rendering that cannot be read", f"{name}: {record}")
        return None
