"""Hidden cameras: does `simjudge explain` name the defect, with its parameter? docs/measurements/explain.md.

Each case draws a defect and its parameter, sees a labelled set through it (the answer is written down and not passed
on), and explains the hidden set by the plain one, paired. For any set with images and a detector:
`python bench/explain_blind.py SET MODEL OUT.csv --cases 16 --frames 24`.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from pathlib import Path

import numpy as np

import simjudge as sj
from simjudge.core.images import ArrayImages
from simjudge.sim.sensors.camera.chain import Step, apply_steps

RANGES = {
    "white_balance": (0.6, 0.85),
    "exposure": (0.35, 0.7),
    "contrast": (1.4, 2.2),
    "blur": (1.0, 3.0),
    "noise": (6.0, 20.0),
    "vignetting": (25.0, 45.0),
    "jpeg": (8, 50),
    "mosaic": (0.0, 0.0),
}


def draw_defect(kind: str, random: np.random.Generator) -> tuple[Step, float]:
    """A filter and the number by which it is judged."""
    value = random.uniform(*RANGES[kind])
    filters = {
        "white_balance": ("white_balance", {"red": value, "green": 1.0, "blue": random.uniform(1.1, 1.4)}),
        "exposure": ("white_balance", {"red": value, "green": value, "blue": value}),
        "contrast": ("gamma", {"exponent": value}),
        "blur": ("gaussian_blur", {"sigma": value}),
        "noise": ("gaussian_noise", {"sigma": value}),
        "vignetting": ("vignetting", {"half_angle": value}),
        "jpeg": ("jpeg", {"quality": int(value)}),
        "mosaic": ("bayer", {"pattern": str(random.choice(["RGGB", "GRBG"]))}),
    }
    return Step(*filters[kind]), value


def found_value(cause: sj.Explanation, kind: str) -> float | None:
    """The parameter that was found for a kind, in the unit of the drawn one."""
    for each in cause.causes:
        if each.name == kind:
            given = each.filters[0].parameters
            if kind == "noise":
                return math.hypot(given["read"], given["shot"] * math.sqrt(0.45))
            names = {
                "white_balance": "red",
                "exposure": "red",
                "contrast": "exponent",
                "blur": "sigma",
                "vignetting": "half_angle",
                "jpeg": "quality",
            }
            return given.get(names.get(kind, ""), math.nan)
    return None


def main() -> None:
    """Run the cases and write a row for each, as soon as it is done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cases", type=int, default=16)
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--sample", type=int, default=6)
    given = parser.parse_args()
    frames = sj.read(given.source)
    frames = frames.take(np.arange(min(given.frames, len(frames))))
    pictures = [frames.images.read(number) for number in range(len(frames))]
    plain = sj.FrameSet.build(
        "plain",
        frames.size,
        frames.objects,
        frame_name=frames.frame_name,
        class_names=frames.class_names,
        images=ArrayImages(pictures),
    )
    detector = sj.load_detector(given.model)
    with given.out.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(
            [
                "case",
                "defect",
                "drawn",
                "found",
                "gap",
                "first",
                "share",
                "low",
                "high",
                "left",
                "excess",
                "verdict",
                "seconds",
            ]
        )
        for case in range(given.cases):
            kind = list(RANGES)[case % len(RANGES)]
            step, drawn = draw_defect(kind, np.random.default_rng([15, case]))
            seen = [apply_steps(image, [step], (case, number)) for number, image in enumerate(pictures)]
            hidden = sj.FrameSet.build(
                "hidden",
                frames.size,
                frames.objects,
                frame_name=frames.frame_name,
                class_names=frames.class_names,
                images=ArrayImages(seen),
            )
            begin = time.monotonic()
            found = sj.explain(
                hidden, plain, detector=detector, paired=True, sample=given.sample, block=0, patch=(40, 40), theta=0.5
            )
            first = found.causes[0] if found.causes else None
            share = None if first is None or first.share is None else first.share
            shown = [_text(each) for each in (share.content() if share else [None] * 3)]
            rows.writerow(
                [
                    case,
                    kind,
                    f"{drawn:.4g}",
                    _text(found_value(found, kind)),
                    found.is_gap,
                    "" if first is None else first.name,
                    *shown,
                    _text(found.rest.value),
                    _text(found.certainty.gap),
                    found.certainty.verdict,
                    f"{time.monotonic() - begin:.0f}",
                ]
            )
            stream.flush()


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()
