"""`simjudge engines compare SCENE`: two engines side by side, on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from simjudge.commands.common import finish, progress, say
from simjudge.core.errors import Losses

if TYPE_CHECKING:
    from simjudge.geometry.poses import Pose

app = typer.Typer(help="The engines that move and light a scene.", no_args_is_help=True)


@app.command("compare")
def compare(
    scene: str = typer.Argument(..., metavar="SCENE", help="File or name."),
    camera: str = typer.Option("plain", "--camera", metavar="FILE|NAME", help="The camera that sees it."),
    out: Path = typer.Option(..., "--out", help="Folder for the page, both data sets and the judge's result."),
    a: str = typer.Option("default", "--a", help="One engine."),
    b: str = typer.Option("chrono", "--b", help="The other."),
    poses: str = typer.Option("path", metavar="path|random|FILE", help="Where from, as simjudge render has it."),
    count: int = typer.Option(12, "-n", min=1, help="How many poses."),
    vehicle: str | None = typer.Option(None, help="The car that carries the camera.", show_default="art1"),
    model: Path | None = typer.Option(None, "--model", help="Run this detector on both, and judge them by it."),
    seed: int = typer.Option(0, min=0, help="Of scene, poses and camera."),
) -> None:
    """Show the same scene, poses and camera through two engines: pictures, boxes, speed, and the judge's verdict."""
    from simjudge.capture.ground_truth import Labelling
    from simjudge.commands.render import wanted_poses
    from simjudge.core.files import atomic_folder
    from simjudge.data.formats.yolo.dataset import write_yolo
    from simjudge.engines.registry import make_engine
    from simjudge.reports.engines_page import write_page
    from simjudge.results.saved_result import load_results
    from simjudge.scene.read import read_scene
    from simjudge.sensors.camera.camera_file import read_camera
    from simjudge.studies.compare_settings import CompareSettings
    from simjudge.studies.comparison import compare_sets
    from simjudge.studies.side_by_side import compare_boxes, frames_of, look_around, numbers

    world, seen_by = read_scene(scene, seed), read_camera(camera)
    losses = Losses()
    stand = wanted_poses(poses, scene, seen_by, count, seed, (vehicle, None), losses)
    places: list[Pose] = []
    sights, kinds = [], []
    for side, name in zip("AB", (a, b), strict=True):
        engine = make_engine(name, world)
        try:
            # Random places are looked for with the first engine's rays; the other looks from the same ones.
            places = places or [stand.at(i, [stamp], engine)[0] for i, stamp in enumerate(stand.stamp)]
            with progress(f"{side}: {name}") as advance:
                sights.append(look_around(engine, seen_by, places, seed, advance))
            kinds.append((name, engine.variant))
        finally:
            engine.close()
    boxes = compare_boxes(sights[0], sights[1])
    found = numbers(sights[0], sights[1], boxes)
    with atomic_folder(out) as folder:
        for side, name, seen in zip("ab", (a, b), sights, strict=True):
            write_yolo(frames_of(f"{name}", seen, dict(world.class_names), Labelling()), folder / side)
        judged = None
        if model is not None:
            settings = CompareSettings(model=model, seed=seed, paired=True)
            compare_sets(folder / "a", folder / "b", settings, log=say, progress=progress).save(folder / "result")
            judged = load_results([folder / "result"])[0]
        (folder / "numbers.json").write_text(json.dumps({"engines": kinds} | found, indent=2), encoding="utf-8")
        title = f"{world.name} through camera {seen_by.name}"
        write_page(folder / "index.html", title, (kinds[0], kinds[1]), (sights[0], sights[1]), boxes, found, judged)
    typer.echo(f"engines      A {kinds[0][0]} ({kinds[0][1]}), B {kinds[1][0]} ({kinds[1][1]})")
    light, labels = found["seconds_light"], found["seconds_labels"]
    typer.echo(f"seconds      A {light[0]:.3f} + {labels[0]:.3f}, B {light[1]:.3f} + {labels[1]:.3f} (light + labels)")
    median, worst = (found[key] for key in ("corner_median_px", "corner_worst_px"))
    corners = "nothing to compare" if median is None else f"median {median:.2f} px, worst {worst:.1f} px"
    typer.echo(f"corners      {corners}, {found['things_in_both']} boxes; {len(boxes.lonely)} above 12 px in one alone")
    typer.echo(f"agree        {'yes' if found['agree'] else 'no'}")
    say(f"page in {out / 'index.html'}")
    finish(losses)


@app.command("drive")
def drive(
    names: list[str] = typer.Argument(None, metavar="ENGINE", show_default="default chrono"),
    vehicle: str = typer.Option("art1", metavar="FILE|NAME", help="The car."),
    out: Path | None = typer.Option(None, "--out", help="Write the numbers to this JSON file too."),
) -> None:
    """Drive the same car through throttle step, coast-down and turning circles in each engine."""
    from rich.console import Console
    from rich.table import Table

    from simjudge.core.files import atomic_file
    from simjudge.engines.registry import make_engine
    from simjudge.studies.driving_tests import as_numbers, drive_tests, flat_scene
    from simjudge.vehicle.vehicle_file import read_vehicle

    car, found = read_vehicle(vehicle), {}
    for name in names or ["default", "chrono"]:
        engine = make_engine(name, flat_scene(), car)
        try:
            say(f"{name}: {engine.variant}")
            found[name] = drive_tests(engine, car)
        finally:
            engine.close()
    table = Table()
    table.add_column(f"{car.name} in")
    for name in found:
        table.add_column(name, justify="right")
    figures = list(found.values())
    for label, values in (
        ("speed after 6 s, m/s", [f.speed for f in figures]),
        ("seconds to half of it", [f.to_half for f in figures]),
        ("coasts, m", [f.coast_distance for f in figures]),
        ("coasts, s", [f.coast_time for f in figures]),
        ("metres aside after 6 s", [f.drift for f in figures]),
    ):
        table.add_row(label, *(f"{value:.3f}" for value in values))
    for steering in figures[0].circles:
        radii = [f.circles[steering] for f in figures]
        table.add_row(f"radius at {steering:+.1f}, m (no slip)", *(f"{r:.3f} ({ideal:.3f})" for r, ideal in radii))
    Console(soft_wrap=True, highlight=False).print(table)
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(json.dumps({name: as_numbers(f) for name, f in found.items()}, indent=2))
