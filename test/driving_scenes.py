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
        "lights": {
            "row": {
                "grid": {"columns": 3, "rows": 1, "from": [0, 1], "to": [5, 1], "height": 3},
                "intensity": 9,
                "range": 12,
            }
        },
        "placements": {"course": {"path": path}},
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def camera_file(folder, name="small", **fields):
    """480 x 270, 10 pictures a second, one ray a pixel."""
    content = {"size": [480, 270], "field_of_view": 80, "rate": 10, "supersampling": 1, **fields}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


def track_file(folder, name="ring"):
    """A plane and a closed track of 16 m with two barriers: two straights of 3 m, two half turns of 1.7 m radius."""
    straight, turn = {"straight": 3.0}, {"left": 180, "radius": 1.7}
    barrier = {"box": [0.51, 0.06, 0.16], "class": "barrier", "surface": {"colour": "#b03020"}}
    path = {
        "arcs": {"start": [-1.5, 0, 0], "pieces": [straight, turn, straight, turn]},
        "closed": True,
        "width": 1.3,
        "spacing": 0.5,
        "facing": "along",
        "left": "barrier",
        "right": "barrier",
    }
    content = {
        "classes": {1: "barrier"},
        "ambient": 0.5,
        "background": 0.6,
        "kinds": {"barrier": barrier},
        "things": {"floor": {"plane": [16, 16], "surface": {"colour": "#8a8a8a", "roughness": 0.9}}},
        "lights": {"lamp": {"at": [0, 2, 4], "intensity": 20, "range": 20}},
        "placements": {"course": {"path": path}},
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def lidar_file(folder, name="lidar", **fields):
    """A small lidar on the car's roof: 16 rings, 450 columns, 10 turns a second, no noise."""
    lidar = {
        "kind": "lidar",
        "rate": 10,
        "columns": 450,
        "rings": {"lowest": -15, "highest": 15, "count": 16},
        "range": [0.4, 30],
        "mount": {"position": [0.1, 0.0, 0.25]},
        **fields,
    }
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump({"roof": lidar}))
    return file
