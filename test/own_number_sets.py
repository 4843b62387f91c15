"""Two sets of boxes with predictions, and tables of numbers for them: for tests of performances of one's own."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simjudge.core.frames import FrameSet
from simjudge.core.object_tables import Objects, Predictions


def box_set(seed, name, *, shift=0.0, frames=12, per_frame=4):
    """Boxes of two sizes and classes; predictions off by some pixels, more with `shift`; some are missed."""
    random = np.random.default_rng(seed)
    count = frames * per_frame
    frame = np.repeat(np.arange(frames), per_frame)
    corner = random.integers(20, 200, (count, 2)).astype(float)
    box = np.concatenate([corner, corner + random.choice([20.0, 26.0], (count, 1))], axis=1)
    class_id = random.choice((1, 2), count)
    seen = random.random(count) < 0.85
    guess = box[seen] + random.normal(0, 2 + shift, (seen.sum(), 4))
    return FrameSet.build(
        name,
        [[240, 240]] * frames,
        Objects.build(frame, class_id, box, np.tile(np.arange(per_frame), frames)),
        Predictions.build(frame[seen], class_id[seen], guess, random.uniform(0.3, 1, seen.sum())),
        frame_name=[f"{name}_{i:03d}" for i in range(frames)],
        class_names={1: "class 1", 2: "class 2"},
    )


def write_rows(path, rows):
    """Write a CSV or Parquet file of rows, by its ending."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
