"""Made tracks, a tracker's answer to them, and their text in the form of the MOT Challenge."""

import numpy as np

from simjudge.detectors.tracking_scores import TrackBoxes


def _boxes(rows):
    table = np.array(sorted(rows), np.float64).reshape(-1, 6)
    return TrackBoxes(
        table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2:], np.ones(len(table), np.int64)
    )


def toy(spans):
    """One thing that stands; a span (first, end, track) each."""
    return _boxes([(frame, track, 0, 0, 10, 20) for first, end, track in spans for frame in range(first, end)])


def made_tracks(seed, frames=100, things=6, *, miss=0.1, switch=0.03, invent=0.05, shift=0.08, size=60.0):
    """Things that walk through the picture for a while, and what a tracker makes of them."""
    random = np.random.default_rng(seed)
    real, found, number = [], [], 1000
    for thing in range(things):
        first, last = sorted(random.integers(0, frames + 1, 2).tolist())
        place, speed = random.uniform(0, 300, 2), random.normal(0, 3, 2)
        high = size * np.exp(random.normal(0, 0.3))
        number += 1
        for frame in range(first, max(last, first + 3)):
            if frame >= frames:
                break
            place = place + speed + random.normal(0, 1, 2)
            box = np.array([place[0], place[1], place[0] + high / 2, place[1] + high])
            real.append((frame, thing + 1, *box))
            if random.random() < switch:
                number += 1
            if random.random() > miss:
                found.append((frame, number, *(box + high * shift * random.normal(size=4))))
    for frame in range(frames):
        if random.random() < invent:
            x, y = random.uniform(0, 300, 2)
            found.append((frame, 5000 + frame, x, y, x + size / 2, y + size))
    return _boxes(real), _boxes(found)


def write_mot(path, boxes, *, is_truth):
    """Write frame, id, left, top, width, height, confidence, class, visibility; frames from 1 on."""
    rows = []
    for frame, track, (x0, y0, x1, y1) in zip(
        boxes.frame.tolist(), boxes.track.tolist(), boxes.box.tolist(), strict=True
    ):
        tail = "1,1,1" if is_truth else "0.9,-1,-1,-1"
        rows.append(f"{frame + 1},{track},{x0!r},{y0!r},{x1 - x0!r},{y1 - y0!r},{tail}\n")
    path.write_text("".join(rows))
    return path
