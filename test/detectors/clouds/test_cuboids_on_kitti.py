"""The detector of cuboids on real scans with labels: a few of them, where the data is there."""

from dataclasses import replace

import numpy as np
from public_data import PUBLIC_DATA, needs

import simjudge as sj
from simjudge.data.clouds import CloudBoxes
from simjudge.detectors.cuboid_iou import centre_fit, cuboid_hits, iou_fit

KITTI = PUBLIC_DATA / "real_lidar/kitti_tracking_0000"
pytestmark = needs("real_lidar/kitti_tracking_0000")


def some(clouds, indices):
    """A few clouds of a set, with their boxes."""
    keep = np.isin(clouds.boxes.cloud, indices)
    boxes = {name: value[keep] for name, value in vars(clouds.boxes).items()}
    boxes["cloud"] = np.searchsorted(indices, boxes["cloud"])
    return replace(
        clouds,
        cloud_name=[clouds.cloud_name[i] for i in indices],
        stamp=clouds.stamp[indices],
        read=lambda index: clouds.read(indices[index]),
        boxes=CloudBoxes(**boxes),
        labelled=clouds.labelled[indices],
        cameras=(),
        poses=(),
    )


def test_most_labelled_things_within_30_m_are_found():
    found = sj.detect_clouds(some(sj.read_clouds(KITTI), [0, 25]))
    assert found.losses.counts == {}
    by_iou, by_centre = (cuboid_hits(found, fit)[:3] for fit in (iou_fit, centre_fit))
    labelled = sum(row.labelled for row in by_iou)
    assert labelled > 12
    assert sum(row.found for row in by_iou) > 0.65 * labelled
    assert sum(row.found for row in by_centre) > 0.75 * labelled
