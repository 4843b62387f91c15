"""What checks expect: each function raises `ContractBrokenError` with what was found and what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simjudge.core.errors import UsageError
from simjudge.geometry.poses import Pose
from simjudge.sim.testing.checks import ContractBrokenError


def expect(holds: object, what: str) -> None:
    """Expect that something holds."""
    if not holds:
        raise ContractBrokenError(f"expected: {what}")


def expect_near(
    found: npt.ArrayLike, expected: npt.ArrayLike, what: str, *, absolute: float = 0.0, relative: float = 0.0
) -> None:
    """Expect numbers that differ by no more than a tolerance: absolute + relative x |expected|.

    Args:
        expected: what it should be; of the same shape, or a number.
    """
    given, wanted = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf, where both are inf
        same = (given == wanted) | (np.abs(given - wanted) <= absolute + relative * np.abs(wanted))
    if np.all(same):
        return
    worst = np.unravel_index(np.argmin(same), same.shape)
    one, other = np.broadcast_to(given, same.shape)[worst], np.broadcast_to(wanted, same.shape)[worst]
    where = f" at {[*map(int, worst)]}" if worst else ""
    raise ContractBrokenError(f"{what}: found {one:.6g}, expected {other:.6g}{where}")


def poses_differ(pose: Pose, other: Pose, metres: float = 1e-6, radians: float = 1e-6) -> bool:
    """Whether two poses are further apart than a tolerance."""
    x, y, z, w = (pose.inverse() @ other).orientation
    angle = 2 * math.atan2(math.hypot(x, y, z), abs(w))
    return not (math.dist(pose.position, other.position) <= metres and angle <= radians)


def expect_pose(found: Pose, expected: Pose, what: str, metres: float = 1e-6, radians: float = 1e-6) -> None:
    """Expect a pose."""
    if poses_differ(found, expected, metres, radians):
        within = f"within {metres:g} m and {radians:g} rad"
        raise ContractBrokenError(f"pose of {what}: found {found}, expected {expected} {within}")


def expect_refused(call: Callable[[], object], what: str) -> None:
    """Expect that a call is refused by `UsageError`."""
    try:
        call()
    except UsageError:
        return
    except Exception as error:
        refused = f"refused by {type(error).__name__}"
        raise ContractBrokenError(f"{what}: {refused}, expected UsageError ({error})") from error
    raise ContractBrokenError(f"{what}: done, expected UsageError")
