"""Hidden cameras: do `simjudge explain` and `simjudge fit` find one to three defects that they were not told of?

`python bench/hidden_cameras.py SET MODEL OUT --cases 50 --frames 40 [--first 0] [--patch 40]` draws a camera for each
case, sees A through it (B stays as it is), and writes OUT/CASE/answer.json, which neither explain nor fit reads. Then
both run, and OUT/CASE/found.json has what they found. A case that is there is not run again.
With `--new` each camera has a haze, a motion blur, a chromatic aberration or a sharpening beside up to two others.
`python bench/hidden_cameras.py --table OUT...` prints the tables of docs/measurements/explain.md.

What causes most of the gap is computed from the answer: W1 of every part of the defects against B, and their Shapley
values. So a defect that the detector does not mind is not asked for. The first cause is counted in all cases, and in
those where explain sees a gap. One case number draws one camera: give two sets different `--first` for different ones.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import simjudge as sj
from simjudge.core.images import ArrayImages
from simjudge.sim.sensors.camera.chain import Step, apply_steps

RANGES = {
    "haze": (0.15, 0.5),
    "motion_blur": (3.0, 12.0),
    "chromatic_aberration": (1.002, 1.008),
    "blur": (1.0, 3.0),
    "vignetting": (25.0, 45.0),
    "exposure": (0.35, 0.7),
    "white_balance": (0.6, 0.85),
    "contrast": (1.4, 2.2),
    "noise": (6.0, 20.0),
    "sharpening": (0.4, 1.5),
}
"""Kinds of defect, in the order in which they act in a camera, and the ranges that they are drawn from."""
BLUE_RANGE = (1.1, 1.4)
"""The gain of blue that a white balance has beside that of red."""
NEW = ("haze", "motion_blur", "chromatic_aberration", "sharpening")
"""Kinds that `--new` asks for: one of them is in every camera then."""
FITTED_NAME = {
    "haze": "haze",
    "motion_blur": "length",
    "chromatic_aberration": "red_size",
    "blur": "blur",
    "vignetting": "vignetting",
    "exposure": "gain",
    "white_balance": "red",
    "contrast": "exponent",
    "noise": "noise",
    "sharpening": "sharpening",
}
NEUTRAL = dict.fromkeys(RANGES, 0.0)
NEUTRAL |= dict.fromkeys(("chromatic_aberration", "exposure", "white_balance", "contrast"), 1.0)
ROUNDING = 1e-12
"""W1 of two sums of the same numbers differ by less."""
TIED = 0.01
"""Shapley values that differ by less are no order."""


def draw_camera(case: int, *, new: bool = False) -> dict[str, dict[str, float]]:
    """By kind of defect, the number by which it is judged, the gain of blue of a white balance, and an angle."""
    random = np.random.default_rng([15, 100, case])
    old = [kind for kind in RANGES if kind not in NEW]
    kinds = random.permutation(old)[: 1 + case % 3]
    if new:
        kinds = [NEW[case % len(NEW)], *kinds[: case // len(NEW) % 3]]
    found = {}
    for kind in (each for each in RANGES if each in kinds):
        value = float(random.uniform(*RANGES[kind]))
        found[kind] = {"value": value, "blue": float(random.uniform(*BLUE_RANGE))}
    return {kind: each | {"angle": float(random.uniform(0, 180))} for kind, each in found.items()}


def step(kind: str, drawn: dict[str, float]) -> Step:
    """The filter of a defect."""
    value = drawn["value"]
    return Step(
        *{
            "haze": ("haze", {"density": value}),
            "motion_blur": ("motion_blur", {"length": value, "angle": drawn.get("angle", 0.0)}),
            "chromatic_aberration": ("chromatic_aberration", {"red": value, "blue": 2 - value}),
            "sharpening": ("sharpen", {"amount": value, "radius": 1.2}),
            "blur": ("gaussian_blur", {"sigma": value}),
            "vignetting": ("vignetting", {"half_angle": value}),
            "exposure": ("white_balance", {"red": value, "green": value, "blue": value}),
            "white_balance": ("white_balance", {"red": value, "green": 1.0, "blue": drawn["blue"]}),
            "contrast": ("gamma", {"exponent": value}),
            "noise": ("gaussian_noise", {"sigma": value}),
        }[kind]
    )


def seen_through(plain: sj.FrameSet, camera: dict[str, Any], kinds: tuple[str, ...], case: int) -> sj.FrameSet:
    """The frames through a camera that has some of its defects."""
    steps = [step(kind, camera[kind]) for kind in camera if kind in kinds]
    pictures = [apply_steps(plain.images.read(number), steps, (case, number)) for number in range(len(plain))]
    return sj.FrameSet.build(
        "hidden",
        plain.size,
        plain.objects,
        frame_name=plain.frame_name,
        class_names=plain.class_names,
        images=ArrayImages(pictures),
    )


def true_shares(plain: sj.FrameSet, camera: dict[str, Any], detector: Any, case: int, method: dict[str, Any]) -> dict:
    """The Shapley value of each defect, of W1 between the frames that have some defects and those that have none."""
    kinds, settings = tuple(camera), method | {"draws": 0}
    predicted = sj.detect(plain, detector)

    def w1(frames: sj.FrameSet) -> float:
        return float(sj.compare(frames, predicted, **settings).content["overall"]["mean_w1"])

    worth = {(): w1(predicted)}
    for count in range(1, len(kinds) + 1):
        for part in itertools.combinations(kinds, count):
            worth[part] = w1(sj.detect(seen_through(plain, camera, part, case), detector))
    shares = {}
    for kind in kinds:
        others = [each for each in kinds if each != kind]
        shares[kind] = sum(
            (worth[tuple(k for k in kinds if k in part or k == kind)] - worth[part])
            * math.factorial(len(part))
            * math.factorial(len(others) - len(part))
            / math.factorial(len(kinds))
            for count in range(len(others) + 1)
            for part in itertools.combinations(others, count)
        )
    return shares


def run_case(plain: sj.FrameSet, detector: Any, folder: Path, case: int, given: argparse.Namespace) -> None:
    """Hide a camera, explain and fit it, and write the answer and what was found."""
    begin, camera = time.monotonic(), draw_camera(case, new=given.new)
    method = {
        "paired": True,
        "block": 0,
        "patch": (given.patch, given.patch),
        "theta": given.theta,
        "draws": given.draws,
    }
    hidden = seen_through(plain, camera, tuple(camera), case)
    explained = sj.explain(hidden, plain, detector=detector, sample=given.sample, **method)
    fitted = sj.fit(hidden, plain, detector=detector, sample=given.sample, evaluations=given.evaluations, **method)
    causes = [
        {"cause": each.name, "w1": None if each.w1 is None else each.w1.value, "verdict": each.verdict}
        for each in explained.causes
    ]
    found = {
        "is_gap": explained.is_gap,
        "causes": causes,
        "gap": explained.certainty.gap,
        "parameters": {
            each.name: {"start": each.start, "value": each.value, "low": each.low, "high": each.high, "told": each.told}
            for each in fitted.parameters
        },
        "held_out": {
            name: {"mean_w1": each.mean_w1, "noise_q95": each.certainty.noise_q95, "p_value": each.certainty.p_value}
            for name in ("before", "start", "after")
            for each in [getattr(fitted, name)]
        },
    }
    answer = {"camera": camera, "shares": true_shares(plain, camera, detector, case, method)}
    folder.mkdir(parents=True)
    (folder / "answer.json").write_text(json.dumps(answer))
    (folder / "found.json").write_text(json.dumps(found | {"seconds": time.monotonic() - begin}))


def score(folder: Path) -> dict[str, Any]:
    """What of a case is right.

    A cause is first only where shares were computed: causes without one stand in the order of a camera. A parameter is
    off by a share of the range that it is drawn from, and of all that a camera could have had: from no defect to the
    worst that is drawn.
    """
    answer, found = (json.loads((folder / name).read_text()) for name in ("answer.json", "found.json"))
    shares, held, camera = answer["shares"], found["held_out"], answer["camera"]
    first = next((each["cause"] for each in found["causes"][:1] if each["w1"] is not None), "")
    most = max(shares.values())
    fitted = {name: each["value"] for name, each in found["parameters"].items()}
    fitted["length"] = math.hypot(fitted.get("motion_right", 0.0), fitted.get("motion_down", 0.0))
    values = {kind: fitted.get(FITTED_NAME[kind], NEUTRAL[kind]) for kind in camera}
    error = {kind: abs(values[kind] - camera[kind]["value"]) for kind in camera}
    drawn = {kind: error[kind] / (RANGES[kind][1] - RANGES[kind][0]) for kind in camera}
    possible = {kind: error[kind] / max(abs(each - NEUTRAL[kind]) for each in RANGES[kind]) for kind in camera}
    if "white_balance" in camera:
        blue = abs(fitted["blue"] - camera["white_balance"]["blue"])
        low, high = BLUE_RANGE
        drawn["white_balance, blue"], possible["white_balance, blue"] = blue / (high - low), blue / (high - 1)
    before, after = held["before"], held["after"]
    return {
        "case": folder.name,
        "defects": camera,
        "is_gap": found["is_gap"],
        "first": first,
        "shares": shares,
        "right": bool(first) and shares.get(first) == most,
        "tied": bool(first) and shares.get(first, -1.0) >= most - TIED,
        "drawn": drawn,
        "possible": possible,
        "values": values,
        "seconds": found["seconds"],
        "open": before["mean_w1"] > before["noise_q95"],
        "closed": after["mean_w1"] <= after["noise_q95"] + ROUNDING,
        "before": before["mean_w1"],
        "after": after["mean_w1"],
        "q95": after["noise_q95"],
    }


def print_tables(folders: list[Path]) -> None:
    """The tables of the page, by source, by defect, and the failures."""
    scored = [
        score(path.parent) | {"set": folder.name} for folder in folders for path in sorted(folder.glob("*/found.json"))
    ]
    columns = (
        "set",
        "cases",
        "right first cause",
        "with a gap",
        "right first cause",
        "or tied",
        "parameters off, of the range drawn",
        "of what is possible",
        "W1 within the floor's 95 %",
        "of those above it before",
    )
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name in [folder.name for folder in folders] + ["all"]:
        rows = [each for each in scored if name in {each["set"], "all"}]
        gaps, above = ([each for each in rows if each[key]] for key in ("is_gap", "open"))
        drawn, possible = (
            np.median([off for each in rows for off in each[key].values()] or [math.nan])
            for key in ("drawn", "possible")
        )
        print(
            f"| {name} | {len(rows)} | {_count(rows, 'right')} | {len(gaps)} | {_count(gaps, 'right')} | "
            f"{_count(gaps, 'tied')} | {drawn:.1%} | {possible:.1%} | {_count(rows, 'closed')} | "
            f"{_count(above, 'closed')} of {len(above)} |"
        )
    print("\n| defect | drawn from | cases | first where its share is the largest | off, median | off, worst |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, span in (RANGES | {"white_balance, blue": BLUE_RANGE}).items():
        off = [each["drawn"][kind] for each in scored if kind in each["drawn"]]
        most = [each for each in scored if each["is_gap"] and each["shares"].get(kind) == max(each["shares"].values())]
        if off:
            print(
                f"| {kind} | {span[0]:g} to {span[1]:g} | {len(off)} | {_count(most, 'right')} of {len(most)} | "
                f"{np.median(off):.1%} | {max(off):.1%} |"
            )
    print("\n| case | drawn (fitted; Shapley value) | first cause | W1 before, after, 95 % of the floor |")
    print("| --- | --- | --- | --- |")
    for each in scored:
        if (each["is_gap"] and not each["right"]) or not each["closed"]:
            drawn_words = "; ".join(
                f"{kind} {each['defects'][kind]['value']:.3g} ({each['values'][kind]:.3g}; {each['shares'][kind]:.3f})"
                for kind in each["defects"]
            )
            print(
                f"| {each['set']} {each['case']} | {drawn_words} | {each['first'] or 'none'} | "
                f"{each['before']:.3f}, {each['after']:.3f}, {each['q95']:.3f} |"
            )


def _count(rows: list[dict[str, Any]], key: str) -> int:
    return sum(bool(each[key]) for each in rows)


def main() -> None:
    """Run cases, or print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+", help="SET MODEL OUT; with --table, folders of cases")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--new", action="store_true", help="a haze, motion, aberration or sharpening in every camera")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--sample", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=24)
    parser.add_argument("--patch", type=int, default=40)
    parser.add_argument("--theta", type=float, default=0.5)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    if given.table:
        print_tables([Path(each) for each in given.paths])
        return
    source, model, out = given.paths
    frames = sj.read(source)
    frames = frames.take(np.linspace(0, len(frames) - 1, min(given.frames, len(frames))).astype(int))
    pictures = [frames.images.read(number) for number in range(len(frames))]
    plain = sj.FrameSet.build(
        "plain",
        frames.size,
        frames.objects,
        frame_name=frames.frame_name,
        class_names=frames.class_names,
        images=ArrayImages(pictures),
    )
    detector = sj.load_detector(model)
    for case in range(given.first, given.first + given.cases):
        folder = Path(out) / f"{case:03d}"
        if not folder.exists():
            run_case(plain, detector, folder, case, given)
            print(f"{folder}: {time.strftime('%X')}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
