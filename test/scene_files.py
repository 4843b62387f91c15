"""Scenes for tests: a small good one, and files of it with changes."""

import copy

import yaml

GOOD = {
    "classes": {1: "red", 2: "green"},
    "area": [-3, -2, 3, 2],
    "ambient": 0.1,
    "surfaces": {"grey": {"colour": "#808080", "roughness": 0.4}},
    "kinds": {
        "red_cone": {
            "cone": {"radius": 0.04, "height": 0.08, "top": 0.01},
            "surface": {"colour": "#d02010"},
            "class": "red",
            "motion": "free",
            "mass": 0.02,
        },
        "green_cone": {"kind": "red_cone", "surface": {"colour": [0, 0.5, 0.2]}, "class": 2},
    },
    "things": {
        "floor": {"plane": [8, 6], "surface": "grey"},
        "crate": {"box": [0.4, 0.3, 0.2], "at": [2, 1], "yaw": 30},
        "first": {"kind": "red_cone", "at": [1, -0.5]},
    },
    "lights": {"lamp": {"at": [0, 0, 2.5], "intensity": 8, "range": 10}},
}
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


def scene_file(folder, content=None, **changes):
    """A scene's file: the good one with changes, "a.b" for a field of a part; None removes a field."""
    content = copy.deepcopy(GOOD if content is None else content)
    for field, value in changes.items():
        part, *rest = field.split("__")
        place = content
        while rest:
            place = place.setdefault(part, {})
            part, *rest = rest
        if value is None:
            del place[part]
        else:
            place[part] = value
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def thing(scene, name):
    """A thing of a scene by name."""
    return next(each for each in scene.things if each.name == name)
