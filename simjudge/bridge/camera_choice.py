"""The camera that a program asks for: a file, or figures as a camera's file has them, checked by the same rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from simjudge.core.errors import UsageError
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import camera_from_fields, read_camera


def choose_camera(
    given: str | Path | Camera | None, name: str, fields: Mapping[str, Any], filters: str | Path | tuple[Any, ...]
) -> Camera:
    """The camera.

    Args:
        given: a camera's file or name, or a camera; None: of the fields.
        fields: as a camera's file has them; what is None is not given.
        filters: a camera's file whose filters, gain and exposure are taken, or a list of filters.
    """
    stated = {key: value for key, value in fields.items() if value is not None}
    if given is not None:
        rate = stated.pop("rate", None)
        if stated or filters:
            both = next(iter(stated), "filters")
            raise UsageError(f"camera {name}: {both} stands beside camera; leave one of the two out")
        camera = given if isinstance(given, Camera) else read_camera(given)
        return camera if rate is None else camera.at_rate(rate)
    if "size" not in stated:
        raise UsageError(f"camera {name}: give size and field_of_view, or camera: a file or name")
    stated.setdefault("rate", 30.0)
    if isinstance(filters, str | Path):
        whole = read_camera(filters)
        made = camera_from_fields(stated, name)
        return replace(made, steps=whole.steps, gain=whole.gain, auto_exposure=whole.auto_exposure)
    return camera_from_fields({**stated, "filters": list(filters)} if filters else stated, name)
