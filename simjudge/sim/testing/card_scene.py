"""The small world in which engines are measured: plates that shine before a wall, and where they must be seen.

Plates send out light of their own and reflect none, so that what they look like is known to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simjudge.core.arrays import FloatArray
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.scene.model import Collider, Colour, PointLight, Scene, Surface, Thing, box
from simjudge.sim.sensors.camera.lens import lens_with_field, lens_with_focal_length

PINHOLE = lens_with_field("pinhole", (320, 240), 80)
# As strong as a wide action camera's: 10 px in the corners
BENT = lens_with_focal_length("radial", (320, 240), 190.0, (-0.25, 0.05, 0.0))
HEIGHT = 1.0  # Metres of the camera above the ground
CAMERA = Pose((0, 0, HEIGHT)).optical_frame()
SIDE, THICKNESS = 0.3, 0.002  # Metres of a plate
WALL = 6.0  # Metres from the camera to the wall
LAMP = (2.0, 0.0, 1.0)  # Metres, where the lamp hangs
LAMP_INTENSITY = 30.0
DARK, BRIGHT = 0.2, 0.8  # Albedo of the wall's left and right half
AWAY = Pose((-20.0, 0.0, 5.0))  # Behind the camera: nobody sees it


@dataclass(frozen=True)
class Plate:
    """A plate that faces the camera.

    Attributes:
        position: of its middle, metres, world.
        emission: linear RGB radiance.
    """

    name: str
    position: tuple[float, float, float]
    class_id: int
    instance: int
    emission: Colour

    @property
    def pose(self) -> Pose:
        """Of the thing's frame, which is in the middle of its lower side."""
        x, y, z = self.position
        return Pose((x, y, z - SIDE / 2))

    @property
    def face(self) -> FloatArray:
        """The corners (4, 3) of the side that the camera sees, metres, world."""
        x, y, z = self.position
        half = SIDE / 2
        return np.array([[x - THICKNESS / 2, y + a * half, z + b * half] for a in (-1, 1) for b in (-1, 1)])


# In no two rows or columns alike; none where the mirror image of another is.
PLATES = (
    Plate("plate_a", (3.0, 1.5, 1.75), 1, 11, (0.8, 0.4, 0.1)),
    Plate("plate_b", (3.0, -1.0, 1.4), 2, 12, (0.05, 0.05, 0.05)),
    Plate("plate_c", (3.0, 0.5, 0.7), 1, 13, (0.2, 0.2, 0.2)),
    Plate("plate_d", (3.0, -1.7, 0.4), 3, 14, (0.5, 0.5, 0.5)),
    Plate("plate_e", (3.0, -0.3, 1.05), 2, 15, (3.0, 3.0, 3.0)),
)
CLASS_NAMES = {1: "one", 2: "two", 3: "three"}


def card_scene(light: float = 1.0, *, lamp: bool = True) -> Scene:
    """Five plates, and a lamp that lights the wall behind (light: by how much all light is stronger)."""
    wall = [
        Thing(
            name,
            box(0.1, 8.0, 12.0),
            Surface((albedo,) * 3, roughness=1.0),
            Pose((WALL + 0.05, y, -5.0)),
            collider=Collider("box", (0.1, 8.0, 12.0), (0, 0, 6.0)),
        )
        for name, albedo, y in (("wall_left", DARK, 4.0), ("wall_right", BRIGHT, -4.0))
    ]
    plates = [_thing(plate, light) for plate in PLATES]
    lamps = (PointLight(LAMP, (LAMP_INTENSITY * light,) * 3, 100),) if lamp else ()
    return Scene("card", (*wall, *plates), lamps, class_names=CLASS_NAMES)


def _thing(plate: Plate, light: float) -> Thing:
    red, green, blue = (value * light for value in plate.emission)
    return Thing(
        plate.name,
        box(THICKNESS, SIDE, SIDE),
        Surface((0.0, 0.0, 0.0), roughness=1.0, metallic=1.0, emission=(red, green, blue)),
        plate.pose,
        plate.class_id,
        plate.instance,
        "free",
        0.2,
        Collider("box", (THICKNESS, SIDE, SIDE), (0, 0, SIDE / 2)),
    )


def state(bodies: Mapping[str, Pose] | None = None) -> SceneState:
    """The camera in its place, all things where the scene has them but for some `bodies`."""
    return SceneState(CAMERA, dict(bodies or {}))


def wall_radiance(y: float, z: float) -> float:
    """Radiance of the wall's white (albedo 1) at a place, by the lamp alone."""
    to_lamp = np.subtract(LAMP, (WALL, y, z))
    distance = float(np.linalg.norm(to_lamp))
    return float(LAMP_INTENSITY * -to_lamp[0] / distance / distance**2 / np.pi)
