"""A small ablation: every net sees a pinhole badly, and minds no noise; a net was trained on the pinhole."""

from dataclasses import replace

import numpy as np
from random_frames import made

from simjudge.core.object_tables import Predictions

SETTINGS = {"patch": 40, "theta": 0.4, "draws": 100, "block": 0.0}
CHANGES = {"pinhole": "no distortion", "noise": "Gaussian noise", "unused": "nothing"}
FRAMES = 30


def seen(error, net):
    """The same frames, with boxes that are off by so many pixels."""
    frames = made(1, FRAMES, stamps=np.arange(FRAMES) * 10**9)
    objects, random = frames.objects, np.random.default_rng(net)
    box = objects.box + random.normal(0, error, objects.box.shape)
    found = Predictions.build(objects.frame, objects.class_id, box, random.uniform(0.3, 1, len(box)))
    return replace(frames, predictions=found, detector=None)


def ablation_predictions():
    """The five tables."""
    return {
        "real": {"real": seen(2.0, 1), "baseline": seen(5.0, 2), "pinhole": seen(6.0, 3)},
        "by_real": {"baseline": seen(2.2, 4), "pinhole": seen(9.0, 5), "noise": seen(2.2, 6)},
        "by_baseline": {"baseline": seen(2.0, 7), "pinhole": seen(9.0, 8), "noise": seen(2.0, 9)},
        "by_itself": {"pinhole": seen(2.0, 10)},
        "baseline_by": {"pinhole": seen(9.0, 11)},
    }
