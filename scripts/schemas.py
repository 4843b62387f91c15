"""Makes config/schema/*.schema.json from the models that read the files; `make generated` writes them.

Editors complete and check a file by the schema that its first line names: "# yaml-language-server: $schema=PATH".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from simjudge.detectors.clouds.cuboid_settings import LidarCuboidFile
from simjudge.detectors.colour_detector import ColourFile
from simjudge.questions.study.file import StudyFields
from simjudge.ros.image_sources import RobotFile
from simjudge.sim.capture.simulators.label_messages import SimulatorFile
from simjudge.sim.scene.scene_file import SceneFile
from simjudge.sim.sensors.camera.calibration import CalibrationFile
from simjudge.sim.sensors.camera.camera_file import CameraFile
from simjudge.sim.sensors.camera.rig import RigFile
from simjudge.sim.sensors.sensor_file import SensorsFile
from simjudge.sim.vehicle.vehicle import VehicleFile

FOLDER = Path(__file__).resolve().parents[1] / "config/schema"
MODELS: dict[str, type[BaseModel]] = {
    "calibration": CalibrationFile,
    "camera": CameraFile,
    "colours": ColourFile,
    "cuboids": LidarCuboidFile,
    "rig": RigFile,
    "robot": RobotFile,
    "scene": SceneFile,
    "sensors": SensorsFile,
    "simulator": SimulatorFile,
    "study": StudyFields,
    "vehicle": VehicleFile,
}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NULL = {"type": "null"}
DRAW = {
    "description": "Drawn by the scene's seed: a number between two, or one of a list.",
    "oneOf": [
        {
            "type": "object",
            "properties": {"between": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}},
            "required": ["between"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"one_of": {"type": "array", "minItems": 1}},
            "required": ["one_of"],
            "additionalProperties": False,
        },
    ],
}
EXTENDS = {
    "type": "string",
    "description": "A scene that this one takes over and changes: a file beside it, or a name.",
}


def schema(name: str) -> dict[str, Any]:
    """The schema of one kind of file.

    Args:
        name: one of MODELS.
    """
    made = MODELS[name].model_json_schema()
    if name == "scene":
        # A scene that extends another one need not say all, and anything in it may be drawn or taken away.
        made = with_draws(made)
        made["properties"]["extends"] = EXTENDS
        made["$defs"]["Draw"] = DRAW
    return {"$schema": DIALECT, "title": f"simjudge: {name}", **without_titles(made)}


def without_titles(part: Any) -> Any:
    """A schema without pydantic's titles, which only repeat the fields' names.

    Args:
        part: the schema, or a part of it.
    """
    if isinstance(part, list):
        return [without_titles(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: without_titles(value) for key, value in part.items() if key != "title" or not isinstance(value, str)}


def with_draws(part: Any) -> Any:
    """A schema in which every value may also be a draw or null, and nothing is required.

    Args:
        part: the schema, or a part of it.
    """
    if isinstance(part, list):
        return [with_draws(item) for item in part]
    if not isinstance(part, dict):
        return part
    out = {key: with_draws(value) for key, value in part.items() if key != "required"}
    for key in ("properties", "patternProperties"):
        if key in part:
            out[key] = {field: or_draw(with_draws(value)) for field, value in part[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), dict):
            out[key] = or_draw(with_draws(part[key]))
    return out


def or_draw(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value that may also be a draw or null.

    Args:
        value: the schema of the value.
    """
    about = {key: value[key] for key in ("description", "default") if key in value}
    rest = {key: entry for key, entry in value.items() if key not in about}
    choices = rest["anyOf"] if set(rest) == {"anyOf"} else [rest]
    return {"anyOf": [*(choice for choice in choices if choice != NULL), {"$ref": "#/$defs/Draw"}, NULL], **about}


def text(name: str) -> str:
    """The file of a schema.

    Args:
        name: one of MODELS.
    """
    return json.dumps(schema(name), indent=1, allow_nan=False) + "\n"


def files() -> dict[Path, str]:
    """What each file of the folder should say."""
    return {FOLDER / f"{name}.schema.json": text(name) for name in MODELS}
