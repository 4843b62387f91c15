"""Texts of the scripts and models that move a camera of Gazebo, CARLA or Chrono along recorded poses.

The script that moves a camera of CARLA.

Source: https://carla.readthedocs.io/en/latest/adv_synchrony_timestep/ (synchronous mode, fixed time step),
https://carla.readthedocs.io/en/latest/ref_sensors/ (RGB and instance segmentation camera),
https://carla.readthedocs.io/en/latest/bp_library/ (attributes).

The script that moves a ChCameraSensor through a Chrono system: plain PyChrono, 9.0 or later.

Source: `ChCameraSensor.h`, `ChSensorManager.h`, `ChFilterAccess.h` of Chrono::Sensor, https://api.projectchrono.org.

The model of a camera and the script that moves it in Gazebo (Garden and later).

An `<actor>` carries no sensors there, and Gazebo's own `set_pose` is what projects move cameras by. Source:
https://gazebosim.org/api/sim/8/entity_creation.html and `UserCommands.hh` (the services create and set_pose),
http://sdformat.org/spec?elem=sensor (camera, lens, intrinsics; boundingbox_camera), gz-transport's Python examples.
"""

from __future__ import annotations

CARLA_SCRIPT = '''#!/usr/bin/env python3
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
CHRONO_SCRIPT = '''#!/usr/bin/env python3
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
  pair. There are no labels in it: of things that stand where they stood, `simjudge data convert FOLDER/frames.json OUT
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
GAZEBO_MODEL = """<?xml version="1.0"?>
<!-- The camera @CAMERA@ as simjudge @VERSION@ describes it; @SCRIPT@ moves it. Put it into your world:
     <include><uri>file:///FOLDER/@MODEL@</uri></include>
     The world needs the systems Sensors (ogre2), UserCommands and SceneBroadcaster. -->
<sdf version="1.9">
  <model name="@NAME@">
    <link name="camera_link">
      <gravity>false</gravity>
      <sensor name="camera" type="camera">
        <topic>@NAME@/image</topic>
        <always_on>true</always_on>
        <update_rate>@RATE@</update_rate>
@OPTICS@
      </sensor>
      <sensor name="boxes" type="boundingbox_camera">
        <topic>@NAME@/boxes</topic>
        <always_on>true</always_on>
        <update_rate>@RATE@</update_rate>
@BOX_OPTICS@
      </sensor>
    </link>
  </model>
</sdf>
"""
GAZEBO_OPTICS = """        <camera>
          @BOX_TYPE@<horizontal_fov>@FIELD_RAD@</horizontal_fov>
          <image>
            <width>@WIDTH@</width>
            <height>@HEIGHT@</height>
            <format>R8G8B8</format>
          </image>
          <clip>
            <near>0.05</near>
            <far>500</far>
          </clip>
          <lens>
            <intrinsics>
              <fx>@FX@</fx>
              <fy>@FY@</fy>
              <cx>@CX@</cx>
              <cy>@CY@</cy>
              <s>0</s>
            </intrinsics>
          </lens>
        </camera>"""
GAZEBO_BOX_TYPE = "<box_type>visible_2d</box_type>\n          "
GAZEBO_SCRIPT = '''#!/usr/bin/env python3
"""Takes a picture in Gazebo for each frame of a recording: @SOURCE@

Written by simjudge @VERSION@. Needs Gazebo's Python packages (gz-transport and gz-msgs), NumPy and Pillow.

    gz sim -s -r YOUR_WORLD.sdf         # with <include><uri>file:///FOLDER/@MODEL@</uri></include> in it
    python @SCRIPT@ [--world default] [--out FOLDER]

* @TABLE@ holds the poses of the camera's link (x ahead, y left, z up) in the world: metres, and a unit quaternion.
* The poses are of the recording's fixed frame @FRAME@. If that is not the world's, write the files anew with --align.
* FOLDER gets NAME.png for each frame and frames.json, which `simjudge compare REAL FOLDER/frames.json --paired` reads.
  NAME is the real frame's, so that pictures pair. Labels are the boxes of the bounding box camera: things in the world
  whose <visual> or <model> has the plugin gz::sim::systems::Label.
* ADAPT marks what depends on your world and release: the packages' numbers, the world's name, the labels' names.
@NOTES@"""

from __future__ import annotations

import argparse
import csv
import json
import queue
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TABLE = HERE / "@TABLE@"
NAME = "@NAME@"
WIDTH, HEIGHT = @WIDTH@, @HEIGHT@
LEAST_SIZE = 5
"""Narrower and lower boxes are not labelled, pixels."""
# ADAPT: steps of the world between two pictures: a period of the camera's update rate, with steps of 1 ms.
STEPS = @STEPS@
# ADAPT: names of the labels of your world.
CLASS_NAMES = {"1": "1", "2": "2"}


def objects(message):
    """The boxes of a message of the bounding box camera, whose last pixel is inside."""
    found = []
    for each in message.annotated_box:
        low, high = each.box.min_corner, each.box.max_corner
        box = [low.x, low.y, high.x + 1, high.y + 1]
        if min(box[2] - box[0], box[3] - box[1]) >= LEAST_SIZE:
            found.append({"class": each.label, "box": box})
    return found


def latest(messages):
    """The last message of a queue, once there is one."""
    message = messages.get(timeout=30)
    time.sleep(0.05)
    while not messages.empty():
        message = messages.get()
    return message


def main():
    """Set the pose, step, save."""
    # ADAPT: gz.transport13 and gz.msgs10 are those of Harmonic; 14 and 11 of Ionic.
    from gz.msgs10.annotated_axis_aligned_2d_box_v_pb2 import AnnotatedAxisAligned2DBox_V
    from gz.msgs10.boolean_pb2 import Boolean
    from gz.msgs10.image_pb2 import Image as ImageMessage
    from gz.msgs10.pose_pb2 import Pose
    from gz.msgs10.world_control_pb2 import WorldControl
    from gz.transport13 import Node
    from PIL import Image

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default="default")
    parser.add_argument("--out", type=Path, default=HERE / "@STEM@")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    node, images, boxes = Node(), queue.Queue(), queue.Queue()
    node.subscribe(ImageMessage, f"/{NAME}/image", images.put)
    node.subscribe(AnnotatedAxisAligned2DBox_V, f"/{NAME}/boxes", boxes.put)

    def ask(service, message, kind):
        done, answer = node.request(f"/world/{given.world}/{service}", message, kind, Boolean, 5000)
        if not done or not answer.data:
            raise SystemExit(f"/world/{given.world}/{service} refused; is the world called {given.world}?")

    def control(**fields):
        ask("control", WorldControl(**fields), WorldControl)

    control(pause=True)
    with TABLE.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    frames = []
    for row in rows:
        place = Pose(name=NAME)
        for key in "xyz":
            setattr(place.position, key, float(row[key]))
        for key in "xyzw":
            setattr(place.orientation, key, float(row["q" + key]))
        ask("set_pose", place, Pose)
        for waiting in (images, boxes):
            while not waiting.empty():
                waiting.get()
        control(pause=True, multi_step=STEPS)
        image, found = latest(images), latest(boxes)
        pixels = np.frombuffer(image.data, np.uint8).reshape(HEIGHT, image.step)[:, : 3 * WIDTH]
        Image.fromarray(pixels.reshape(HEIGHT, WIDTH, 3)).save(given.out / (row["name"] + ".png"))
        frames.append({"name": row["name"], "stamp": int(row["stamp"]), "size": [WIDTH, HEIGHT],
                       "image": row["name"] + ".png", "objects": objects(found)})
    held = {str(each["class"]) for frame in frames for each in frame["objects"]}
    names = {number: CLASS_NAMES.get(number, number) for number in sorted(held | set(CLASS_NAMES))}
    (given.out / "frames.json").write_text(json.dumps({"class_names": names, "frames": frames}))


if __name__ == "__main__":
    main()
'''
"""Words between @ are filled in."""
