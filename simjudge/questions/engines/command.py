"""`simjudge sim engines compare SCENE`: two engines side by side, on one page."""

from __future__ import annotations

from pathlib import Path

import typer

from simjudge.core.processes import EXIT_FAILED
from simjudge.terminal.common import (
    ENGINE_HELP,
    exit_if_lost,
    print_note,
    print_table,
    print_text,
    progress,
    takes_finite_numbers,
)

app = typer.Typer(help="Compare and check simulator engines.", no_args_is_help=True)


@app.command("compare")
@takes_finite_numbers
def compare(
    scene: str = typer.Argument(..., metavar="SCENE", help="Scene: a file or a name."),
    camera: str = typer.Option("plain", "--camera", metavar="FILE|NAME", help="Camera that renders it."),
    out: Path = typer.Option(..., "--out", help="Folder for the page, both data sets and the judge's result."),
    a: str = typer.Option("default", "--a", help="First engine."),
    b: str = typer.Option("chrono", "--b", help="Second engine."),
    poses: str = typer.Option("path", metavar="path|random|FILE", help="Camera poses, as for simjudge render."),
    count: int = typer.Option(12, "-n", min=1, help="Number of poses."),
    vehicle: str | None = typer.Option(None, help="Vehicle that carries the camera.", show_default="scene's, or art1"),
    model: Path | None = typer.Option(None, "--model", help="Detector that judges both."),
    seed: int = typer.Option(0, min=0, help="Seed of scene, poses and camera noise."),
) -> None:
    """Show the same scene, poses and camera through two engines: pictures, boxes, speed, and the judge's verdict."""
    from simjudge.questions.engines.run import compare_engines

    result = compare_engines(
        scene,
        out,
        camera=camera,
        a=a,
        b=b,
        poses=poses,
        n=count,
        vehicle=vehicle,
        model=model,
        seed=seed,
        log=print_note,
        progress=progress,
    )
    kinds, found = result.engines, result.numbers
    print_text(f"engines      A {kinds[0][0]} ({kinds[0][1]}), B {kinds[1][0]} ({kinds[1][1]})")
    light, labels = found.seconds_light, found.seconds_labels
    print_text(f"seconds      A {light[0]:.3f} + {labels[0]:.3f}, B {light[1]:.3f} + {labels[1]:.3f} (light + labels)")
    median, worst = found.corner_median_px, found.corner_worst_px
    corners = "nothing to compare" if median is None else f"median {median:.2f} px, worst {worst:.1f} px"
    alone = f"{len(found.lonely)} above 12 px in one alone"
    print_text(f"corners      {corners}, {found.things_in_both} boxes; {alone}")
    print_text(f"agree        {'yes' if found.agree else 'no'}")
    print_note(f"page in {result.page_path}")
    exit_if_lost(result.losses)


@app.command("drive")
@takes_finite_numbers
def drive(
    names: list[str] = typer.Argument(None, metavar="ENGINE", show_default="default chrono"),
    vehicle: str = typer.Option("art1", metavar="FILE|NAME", help="Vehicle."),
    out: Path | None = typer.Option(None, "--out", help="JSON file for the numbers."),
) -> None:
    """Drive the same car through throttle step, coast-down and turning circles in each engine."""
    from rich.table import Table

    from simjudge.questions.engines.run import compare_driving
    from simjudge.terminal.common import Console

    result = compare_driving(names or ["default", "chrono"], out, vehicle=vehicle, log=print_note)
    table = Table()
    table.add_column(f"{result.vehicle} in")
    for name in result.figures:
        table.add_column(name, justify="right")
    figures = list(result.figures.values())
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


@app.command("check")
@takes_finite_numbers
def check(
    name: str = typer.Argument(..., metavar="NAME|PACKAGE:CLASS", help=ENGINE_HELP),
    scene: str | None = typer.Option(
        None, "--scene", metavar="FILE|NAME", help="Scene to check in as well, from random camera poses."
    ),
    count: int = typer.Option(2, "-n", min=1, max=100, help="Number of camera poses in that scene."),
    seed: int = typer.Option(0, min=0, help="Seed of that scene and its camera poses."),
) -> None:
    """Hold an engine to the contract that simjudge expects of one: one line a check, exit code 1 where one fails."""
    from collections import Counter
    from contextlib import closing

    from simjudge.core.arrays import SummaryTable
    from simjudge.sim.engines.registry import engine_class, make_engine
    from simjudge.sim.scene.read import read_scene
    from simjudge.sim.testing import ENGINE_CHECKS, check_engine, scene_cameras, scene_checks
    from simjudge.sim.testing.checks import LENS, contract_scene

    builder = engine_class(name)
    with closing(make_engine(name, contract_scene())) as engine:
        print_note(f"{name}: {engine.name}, {engine.variant}")
    checks = ENGINE_CHECKS
    if scene is not None:
        world = read_scene(scene, seed)
        with closing(builder(world)) as engine:
            cameras = scene_cameras(engine, scene, LENS, count, seed)
        checks += scene_checks(world, LENS, cameras)
    with progress("checks") as advance:
        results = check_engine(builder, checks, advance)
    rows = [
        (result.check.part, f"{result.check.name}{f', {scene}' if at >= len(ENGINE_CHECKS) else ''}", result.status)
        for at, result in enumerate(results)
    ]
    print_table(SummaryTable(("part", "check", "result"), rows, text_columns=3))
    for result in results:
        if result.status == "fail":
            print_text(f"fail: {result.check.name}: {result.reason.rstrip('.')}. {result.check.why}")
    missing = Counter(result.reason for result in results if result.status == "cannot be checked")
    for reason, times in missing.items():
        print_text(f"{times} cannot be checked: {reason}")
    found = [result.status for result in results]
    print_text(", ".join(f"{found.count(status)} {status}" for status in ("pass", "fail", "cannot be checked")))
    if "fail" in found:
        raise typer.Exit(EXIT_FAILED)


@app.command("card")
@takes_finite_numbers
def card(
    names: list[str] = typer.Argument(..., metavar="ENGINE...", help="Engines, each a column of the page."),
    out: Path = typer.Option(..., "--out", help="Folder for the page and its numbers."),
    photographs: int = typer.Option(
        0, min=0, max=160, help="Pictures to render for the gap to the photographs of simjudge demo; 0 for none."
    ),
) -> None:
    """Measure engines in a world that is known: labels, camera, lidar, contract, speed, gap to photographs.

    The exit code is 1 where something is wrong with an engine.
    """
    from simjudge.questions.engines.card_run import engine_cards

    found = engine_cards(names, out, photographs=photographs, log=print_note, progress=progress)
    print_table(found.table)
    wrong = [f"{one.engine}: {line}" for one in found.cards for line in one.findings]
    for line in wrong:
        print_text(line)
    print_note(f"page in {found.page_path}")
    if wrong:
        raise typer.Exit(EXIT_FAILED)
