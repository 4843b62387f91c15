"""The script that moves a camera of CARLA.

Source: https://carla.readthedocs.io/en/latest/adv_synchrony_timestep/ (synchronous mode, fixed time step),
https://carla.readthedocs.io/en/latest/ref_sensors/ (RGB and instance segmentation camera),
https://carla.readthedocs.io/en/latest/bp_library/ (attributes).
"""

TEMPLATE = '''#!/usr/bin/env python3
"""Takes a picture in CARLA for each frame of a recording: @SOURCE@

Written by simjudge @VERSION@. Needs the package `carla` of the running server's version, and NumPy.

    python @SCRIPT@ [--town Town10HD] [--out FOLDER] [--align X,Y,Z,YAW]

* @TABLE@ holds the poses. x, y, z are metres in CARLA's left-handed world (x ahead, y right, z up); pitch (nose up),
  yaw (to the right) and roll (to the right) are degrees, as carla.Location and carla.Rotation take them.
* The poses are of the recording's fixed frame @FRAME@. If it is not the map's, give --align: where that frame's origin
  is in the map, in CARLA's own axes, metres and degrees.
* FOLDER gets NAME.png for each frame and frames.json, which `simjudge compare REAL FOLDER/frames.json --paired` reads.
  NAME is the real frame's, so that pictures pair. Labels are the boxes of what CARLA's instance camera shows.
* ADAPT marks what depends on your world: the map, the weather, which classes are labelled.
@NOTES@"""

from __future__ import annotations

import argparse
import csv
import json
import math
import queue
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TABLE = HERE / "@TABLE@"
WIDTH, HEIGHT = @WIDTH@, @HEIGHT@
FIELD_OF_VIEW = @FIELD_DEG@
"""Horizontal, degrees."""
TIME_STEP = @TIME_STEP@
"""Seconds that the world goes on between two pictures."""
LEAST_SIZE = 5
"""Narrower and lower boxes are not labelled, pixels."""
# ADAPT: names of carla.CityObjectLabel that are labelled.
CLASSES = ("Pedestrians", "Rider", "Car", "Truck", "Bus", "Train", "Motorcycle", "Bicycle", "TrafficLight",
           "TrafficSigns")


def aligned(row, align):
    """x, y, z, pitch, yaw, roll of a row, its frame's origin put at `align` (x, y, z, yaw)."""
    x, y, z, pitch, yaw, roll = (float(row[key]) for key in ("x", "y", "z", "pitch", "yaw", "roll"))
    c, s = math.cos(math.radians(align[3])), math.sin(math.radians(align[3]))
    return align[0] + c * x - s * y, align[1] + s * x + c * y, align[2] + z, pitch, yaw + align[3], roll


def boxes(pixels, numbers):
    """The box of each thing in a picture of the instance camera.

    `pixels` are its raw bytes, (H, W, 4), blue first: red is the tag, green and blue number the thing.
    """
    tag = pixels[..., 2].astype(np.int64)
    thing = (tag << 16) | (pixels[..., 1].astype(np.int64) << 8) | pixels[..., 0]
    found = []
    for value in np.unique(thing[np.isin(tag, list(numbers))]).tolist():
        rows, columns = np.nonzero(thing == value)
        box = [int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1]
        if min(box[2] - box[0], box[3] - box[1]) >= LEAST_SIZE:
            found.append({"class": value >> 16, "box": box, "instance": value})
    return found


def spawn(world, kind):
    """A camera with the recorded camera's field, and the queue of its pictures."""
    import carla

    blueprint = world.get_blueprint_library().find(f"sensor.camera.{kind}")
    wanted = {"image_size_x": WIDTH, "image_size_y": HEIGHT, "fov": FIELD_OF_VIEW, "sensor_tick": 0.0}
    # Without these CARLA bends its pictures.
    wanted.update(lens_k=0.0, lens_kcube=0.0, lens_circle_multiplier=0.0)
    for name, value in wanted.items():
        if blueprint.has_attribute(name):
            blueprint.set_attribute(name, str(value))
    camera, pictures = world.spawn_actor(blueprint, carla.Transform()), queue.Queue()
    camera.listen(pictures.put)
    return camera, pictures


def picture(pictures, frame):
    """The picture of a tick."""
    while True:
        image = pictures.get(timeout=30)
        if image.frame >= frame:
            return image


def main():
    """Move, tick, save."""
    import carla

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=2000)
    parser.add_argument("--town", help="map to load; the running one by default")
    parser.add_argument("--out", type=Path, default=HERE / "@STEM@")
    parser.add_argument("--align", default="0,0,0,0", help="x,y,z,yaw of the recording's frame in the map")
    given = parser.parse_args()
    align = [float(value) for value in given.align.split(",")]
    client = carla.Client(given.host, given.port)
    client.set_timeout(60)
    # ADAPT: map, weather, traffic.
    world = client.load_world(given.town) if given.town else client.get_world()
    before = world.get_settings()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, TIME_STEP
    world.apply_settings(settings)
    numbers = {int(value): name for name, value in carla.CityObjectLabel.names.items() if name in CLASSES}
    given.out.mkdir(parents=True, exist_ok=True)
    cameras, frames = [], []
    try:
        cameras = [spawn(world, "rgb"), spawn(world, "instance_segmentation")]
        with TABLE.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            x, y, z, pitch, yaw, roll = aligned(row, align)
            place = carla.Transform(carla.Location(x=x, y=y, z=z), carla.Rotation(pitch=pitch, yaw=yaw, roll=roll))
            for camera, _ in cameras:
                camera.set_transform(place)
            tick = world.tick()
            colours, things = (picture(pictures, tick) for _, pictures in cameras)
            colours.save_to_disk(str(given.out / (row["name"] + ".png")))
            pixels = np.frombuffer(things.raw_data, np.uint8).reshape(HEIGHT, WIDTH, 4)
            frames.append({"name": row["name"], "stamp": int(row["stamp"]), "size": [WIDTH, HEIGHT],
                           "image": row["name"] + ".png", "objects": boxes(pixels, numbers)})
    finally:
        for camera, _ in cameras:
            camera.destroy()
        world.apply_settings(before)
    names = {str(number): name for number, name in numbers.items()}
    (given.out / "frames.json").write_text(json.dumps({"class_names": names, "frames": frames}))


if __name__ == "__main__":
    main()
'''
"""Words between @ are filled in."""
