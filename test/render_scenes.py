"""A tiny scene and camera as files, for tests of rendering."""

import yaml

SCENE = {
    "classes": {1: "red", 2: "green"},
    "area": [-1.5, -1.5, 1.5, 1.5],
    "ambient": 0.5,
    "kinds": {
        "red_cone": {"cone": {"radius": 0.08, "height": 0.2}, "surface": {"colour": "#d8281a"}, "class": "red"},
        "green_cone": {"kind": "red_cone", "surface": {"colour": "#128a3e"}, "class": "green"},
    },
    "things": {
        "floor": {"plane": [6, 6], "surface": {"colour": "#808080"}},
        "pillar": {"box": [0.5, 0.5, 1.0], "surface": {"colour": "#d0d0d0"}},
    },
    "placements": {"strewn": {"random": {"kinds": ["red_cone", "green_cone"], "count": 8, "spacing": 0.4}}},
}
COURSE = {
    "path": {
        "waypoints": [[-1.4, -1], [0, -1], [1, -1], [1.4, -0.4]],
        "width": 0.6,
        "spacing": 0.4,
        "left": "green_cone",
        "right": "red_cone",
    }
}
CAMERA = {
    "size": [96, 64],
    "field_of_view": 80,
    "rate": 10,
    "supersampling": 1,
    "filters": [{"shot_noise": {"shot": 6, "read": 0.5}}, "srgb"],
}


def scene_file(folder, **changes):
    path = folder / "tiny.yaml"
    content = {key: value for key, value in (SCENE | changes).items() if value is not None}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def camera_file(folder, **changes):
    path = folder / "camera.yaml"
    path.write_text(yaml.safe_dump(CAMERA | changes), encoding="utf-8")
    return path
