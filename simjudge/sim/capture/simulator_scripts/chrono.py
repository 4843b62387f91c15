"""The script that moves a ChCameraSensor through a Chrono system: plain PyChrono, 9.0 or later.

Source: `ChCameraSensor.h`, `ChSensorManager.h`, `ChFilterAccess.h` of Chrono::Sensor, https://api.projectchrono.org.
"""

TEMPLATE = '''#!/usr/bin/env python3
"""Takes a picture in Chrono for each frame of a recording: @SOURCE@

Written by simjudge @VERSION@. Needs PyChrono (core and sensor), NumPy and Pillow.

    python @SCRIPT@ --world my_world.py [--out FOLDER]

* my_world.py has a function make_world() that returns a ChSystem with visual shapes, and may have make_lights(scene),
  which takes the scene of the ChSensorManager. Without --world there is a floor with three boxes, to try the script.
* @TABLE@ holds the poses of the camera's body (x ahead, y left, z up) in the system's world: metres, and a quaternion
  with its real part first (e0).
* The poses are of the recording's fixed frame @FRAME@. If that is not the system's world, write the files anew with
  --align.
* FOLDER gets NAME.png for each frame and frames.json, which simjudge reads. NAME is the real frame's, so that pictures
  pair. There are no labels in it: of things that stand where they stood, `simjudge convert FOLDER/frames.json OUT
  --labels REAL` takes those of the real pictures; simjudge.bridge.chrono records true ones.
* ADAPT marks what depends on your system: lights, and what moves in it.
@NOTES@"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
import pychrono as chrono
import pychrono.sensor as sens
from PIL import Image

HERE = Path(__file__).resolve().parent
TABLE = HERE / "@TABLE@"
WIDTH, HEIGHT = @WIDTH@, @HEIGHT@
FIELD_OF_VIEW = @FIELD_RAD@
"""Horizontal, radians."""


def make_world():
    """ADAPT: a floor and three boxes; yours comes by --world."""
    system = chrono.ChSystemNSC()
    things = [((30, 30, 0.1), (0, 0, -0.05), (0.5, 0.5, 0.5)), ((0.3, 0.3, 0.5), (3, 1, 0.25), (0.8, 0.1, 0.1)),
              ((0.3, 0.3, 0.5), (3, -1, 0.25), (0.1, 0.6, 0.1)), ((0.3, 0.3, 0.5), (6, 0, 0.25), (0.1, 0.1, 0.8))]
    for size, place, colour in things:
        body = chrono.ChBodyEasyBox(*size, 1000, True, False)
        body.SetPos(chrono.ChVector3d(*place))
        body.SetFixed(True)
        material = chrono.ChVisualMaterial()
        material.SetDiffuseColor(chrono.ChColor(*colour))
        body.GetVisualModel().GetShapeInstances()[0].shape.SetMaterial(0, material)
        system.Add(body)
    return system


def make_lights(scene):
    """ADAPT: the lamps."""
    scene.SetAmbientLight(chrono.ChVector3f(0.2, 0.2, 0.2))
    scene.AddPointLight(chrono.ChVector3f(0, 0, 20), chrono.ChColor(1, 1, 1), 500.0)


def world_of(path):
    """The system and the function that lights it."""
    if path is None:
        return make_world(), make_lights
    spec = importlib.util.spec_from_file_location("world", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_world(), getattr(module, "make_lights", make_lights)


def main():
    """Place, take, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "@STEM@")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    system, light = world_of(given.world)
    body = chrono.ChBody()
    body.SetFixed(True)
    system.AddBody(body)
    system.SetChTime(0)
    manager = sens.ChSensorManager(system)
    light(manager.scene)
    camera = sens.ChCameraSensor(body, 1.0, chrono.ChFramed(), WIDTH, HEIGHT, FIELD_OF_VIEW)
    camera.SetLag(0.0)
    camera.SetCollectionWindow(0.0)
    camera.PushFilter(sens.ChFilterRGBA8Access())
    manager.AddSensor(camera)
    with TABLE.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    frames = []
    for number, row in enumerate(rows):
        # ADAPT: what else moves, at float(row["time"]) seconds.
        body.SetPos(chrono.ChVector3d(*(float(row[key]) for key in "xyz")))
        body.SetRot(chrono.ChQuaterniond(*(float(row[key]) for key in ("e0", "e1", "e2", "e3"))))
        # The camera has a rate of 1 Hz: a picture a second of the system's time, whatever the recording's rate.
        system.SetChTime(float(number))
        manager.Update()
        buffer = camera.GetMostRecentRGBA8Buffer()
        if camera.GetNumLaunches() != number + 1 or not buffer.HasData():
            raise SystemExit(f"Chrono took no picture of frame {row['name']}")
        # Chrono's rows begin at the bottom.
        pixels = np.array(buffer.GetRGBA8Data())[::-1, :, :3]
        Image.fromarray(np.ascontiguousarray(pixels)).save(given.out / (row["name"] + ".png"))
        frames.append({"name": row["name"], "stamp": int(row["stamp"]), "size": [WIDTH, HEIGHT],
                       "image": row["name"] + ".png"})
    (given.out / "frames.json").write_text(json.dumps({"frames": frames}))


if __name__ == "__main__":
    main()
'''
"""Words between @ are filled in."""
