"""Small scenes with a course, and small cameras, as files."""

import yaml

ARCS = {
    "start": [0, 0, 0],
    "pieces": [{"straight": 1.2}, {"left": 70, "radius": 1.6}, {"right": 70, "radius": 1.6}, {"straight": 1.0}],
}
STRAIGHT = {"start": [0, 0, 0], "pieces": [{"straight": 4.0}]}


def scene_file(folder, arcs=ARCS, name="bend", **course):
    """A plane, three lamps, and cones along a line: red on the right, green on the left."""
    path = {"arcs": arcs, "width": 1.0, "spacing": 0.6, "left": "green_cone", "right": "red_cone", **course}
    content = {
        "classes": {1: "red", 2: "green"},
        "ambient": 0.3,
        "background": 0.6,
        "kinds": {
            "red_cone": {
                "cone": {"radius": 0.04, "height": 0.077, "top": 0.01},
                "surface": {"colour": "#d8281a", "roughness": 0.6},
                "class": "red",
                "motion": "free",
                "mass": 0.02,
            },
            "green_cone": {"kind": "red_cone", "surface": {"colour": "#128a3e", "roughness": 0.6}, "class": "green"},
        },
        "things": {"floor": {"plane": [16, 16], "surface": {"colour": "#8a8a8a", "roughness": 0.9}}},
        "lights": {"row": {"grid": {"columns": 3, "rows": 1, "from": [0, 1], "to": [5, 1], "height": 3}, "intensity": 9,
                           "range": 12}},
        "placements": {"course": {"path": path}},
    }  # fmt: skip
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def camera_file(folder, name="small", **fields):
    """480 x 270, 10 pictures a second, one ray a pixel."""
    content = {"size": [480, 270], "field_of_view": 80, "rate": 10, "supersampling": 1, **fields}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content))
    return file
