"""The model of a camera and the script that moves it in Gazebo (Garden and later).

An `<actor>` carries no sensors there, and Gazebo's own `set_pose` is what projects move cameras by. Source:
https://gazebosim.org/api/sim/8/entity_creation.html and `UserCommands.hh` (the services create and set_pose),
http://sdformat.org/spec?elem=sensor (camera, lens, intrinsics; boundingbox_camera), gz-transport's Python examples.
"""

MODEL = """<?xml version="1.0"?>
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
OPTICS = """        <camera>
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
BOX_TYPE = "<box_type>visible_2d</box_type>\n          "
TEMPLATE = '''#!/usr/bin/env python3
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
