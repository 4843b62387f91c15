"""Ground by Patchwork++, which fits planes to patches around the lidar; for ground with slopes, kerbs and ramps.

Source: Lee, Lim and Myung, Patchwork++: Fast and Robust Ground Segmentation Solving Partial Under-Segmentation Using 3D
Point Cloud, IROS 2022; the authors' own library.
"""

from __future__ import annotations

import numpy as np

from simjudge.core.arrays import BoolArray, FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.quiet import silent_output


def patchwork_ground(points: FloatArray, sensor_height: float, farthest: float) -> BoolArray:
    """Find ground.

    Args:
        points: float64 (N, 3), metres, from the lidar.
        sensor_height: how high the lidar is above ground, metres.
        farthest: points farther away are not looked at, metres.

    Returns:
        bool (N,).
    """
    try:
        import pypatchworkpp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError('ground by Patchwork++ needs pypatchworkpp: pip install "simjudge[lidar]"') from error
    parameters = pypatchworkpp.Parameters()
    parameters.sensor_height = sensor_height
    parameters.max_range = farthest
    # Its removal of reflections goes by intensities as KITTI has them, which other devices scale otherwise.
    parameters.enable_RNR = False
    with silent_output():
        # A new one each time: it adapts to the clouds it has seen, and a cloud's ground must not depend on others.
        finder = pypatchworkpp.patchworkpp(parameters)
    out = np.zeros(len(points), np.bool_)
    finder.estimateGround(np.column_stack([points, np.zeros(len(points))]).astype(np.float32))
    out[np.asarray(finder.getGroundIndices(), np.int64).reshape(-1)] = True
    return out
