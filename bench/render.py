"""Times of the simulator's light: pictures and labels of the lab, and how they grow with lamps, rays and things."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from simjudge.geometry.poses import Pose
from simjudge.sim.engines.contract import SceneState
from simjudge.sim.engines.default.light import Light
from simjudge.sim.engines.default.variant import CHOICE
from simjudge.sim.scene.model import PointLight, Scene, Surface, Thing, box
from simjudge.sim.scene.read import read_scene
from simjudge.sim.sensors.camera.lens import Lens, lens_with_field

Row = tuple[str, str, str, str]
LARGE, SMALL = lens_with_field("radial", (1280, 720), 80, (-0.2, 0.02, 0)), lens_with_field("pinhole", (640, 360), 80)


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of some runs, after one that compiles."""
    work()
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def camera(scene: Scene) -> SceneState:
    """Where the car's camera is at the start of the course."""
    start = scene.course.start() if scene.course else Pose()
    return SceneState((start @ Pose.from_euler(0.2, 0, 0.1, pitch=0.1)).optical_frame())


def frame(scene: Scene, lens: Lens, rays: int) -> Callable[[], object]:
    """What makes one picture and its labels."""
    light, scene_state = Light(scene), camera(scene)
    return lambda: (light.render(lens, [scene_state], rays), light.labels(lens, scene_state))


def with_lamps(scene: Scene, count: int) -> Scene:
    """The scene under a number of its lamps; more than it has stand between them."""
    own = [scene.lights[k % len(scene.lights)] for k in range(count)]
    moved = [0.3 * (k // len(scene.lights)) for k in range(count)]
    shifted = ((lamp.position[0] + by, *lamp.position[1:]) for lamp, by in zip(own, moved, strict=True))
    lamps = [PointLight(at, lamp.intensity, lamp.range) for at, lamp in zip(shifted, own, strict=True)]
    return replace(scene, lights=tuple(lamps))


def with_boxes(scene: Scene, count: int) -> Scene:
    """The scene with small boxes strewn over it."""
    rng = np.random.default_rng(0)
    x0, y0, x1, y1 = scene.area or (-3, -3, 3, 3)
    places = rng.uniform([x0, y0], [x1, y1], (count, 2))
    mesh, surface = box(0.05, 0.05, 0.05), Surface((0.5, 0.4, 0.2), None, 0.6)
    boxes = [Thing(f"box{k}", mesh, surface, Pose.from_euler(x, y, yaw=k)) for k, (x, y) in enumerate(places.tolist())]
    return replace(scene, things=(*scene.things, *boxes))


def targets() -> Iterator[Row]:
    """The two settings that matter, and the memory of the larger one in a process of its own."""
    lab = read_scene("lab")
    took = seconds(frame(with_lamps(lab, 20), LARGE, 4))
    yield "lab with labels, 1280x720, 4 rays a pixel, 20 lamps", f"{took:.2f} s", "1.0 s", Light(lab).variant
    took = seconds(frame(with_lamps(lab, 6), SMALL, 1), 20)
    yield "lab with labels, 640x360, 1 ray a pixel, 6 lamps", f"{1 / took:.0f} frames/s", "15 frames/s", ""
    moved = moving(with_lamps(lab, 6))
    yield "the same while ten cones move", f"{1 / moved:.0f} frames/s", "", ""
    code = "import render; render.alone()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    first, memory = json.loads(done.stdout)
    yield "memory of the first, and its first picture", f"{memory:.2f} GB, {first:.1f} s", "1 GB", ""


def moving(scene: Scene) -> float:
    """Seconds of a small picture and its labels while ten free things move."""
    light, scene_state = Light(scene), camera(scene)
    free = [thing for thing in scene.things if thing.motion == "free"][:10]
    step = iter(range(1_000_000))

    def work() -> None:
        by = Pose((0.001 * next(step), 0, 0))
        at = SceneState(scene_state.camera, {thing.name: by @ thing.pose for thing in free})
        light.render(SMALL, [at], 1)
        light.labels(SMALL, at)

    return seconds(work, 20)


def alone() -> None:
    """Print seconds of the first picture, compiling included, and gigabytes after three."""
    scene = read_scene("lab")
    start = time.perf_counter()
    work = frame(scene, LARGE, 4)
    work()
    first = time.perf_counter() - start
    work()
    work()
    print(json.dumps([first, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


def growing() -> Iterator[Row]:
    """How a 640x360 picture with labels grows."""
    lab = read_scene("lab")
    for what, counts, make in (
        ("lamps", (1, 5, 20, 80), lambda n: frame(with_lamps(lab, n), SMALL, 1)),
        ("rays a pixel", (1, 4, 16), lambda n: frame(lab, SMALL, n)),
        ("more things", (0, 300, 1_000), lambda n: frame(with_boxes(lab, n), SMALL, 1)),
    ):
        times = [seconds(make(n)) for n in counts]
        shown = ", ".join(f"{1000 * t:.0f}" for t in times)
        yield f"lab, 640x360, {', '.join(f'{n:,}' for n in counts)} {what}", f"{shown} ms", "", ""


def without_llvm() -> Iterator[Row]:
    """The project's own tracer, for machines without libLLVM, in a process of its own."""
    code = "import json, render; print(json.dumps(render.slow()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, CHOICE: "numpy"},
    )
    yield "lab, 640x360, 1 ray, 6 lamps, without LLVM", f"{json.loads(done.stdout):.2f} s", "", ""


def slow() -> float:
    """Seconds of a small picture and its labels."""
    return seconds(frame(with_lamps(read_scene("lab"), 6), SMALL, 1), 2)


def side_by_side() -> Iterator[Row]:
    """`simjudge sim render --jobs` on all cores, beside one job on all cores and one job on one core."""
    simjudge = Path(sys.executable).with_name("simjudge")
    cores = sorted(os.sched_getaffinity(0))
    times = []
    for jobs, pinned in ((len(cores), cores), (1, cores), (1, cores[:1])):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            subprocess.run(
                [simjudge, "render", "lab", "-n", "40", "--jobs", str(jobs), "--out", f"{folder}/set"],
                check=True,
                capture_output=True,
                preexec_fn=lambda: os.sched_setaffinity(0, pinned),  # noqa: B023
            )
            times.append(time.perf_counter() - begin)
    many, one, single = times
    what = f"simjudge sim render lab -n 40 --jobs {len(cores)}"
    yield what, f"{many:.1f} s", "1.7 times one", f"{one / many:.2f} times one job, {single / many:.2f} times one core"


def rows() -> Iterator[Row]:
    """What, how long, what is wanted, beside what."""
    yield from targets()
    yield from growing()
    yield from without_llvm()
    yield from side_by_side()
