"""Random disjoint parts of a set: the paper's R1..R3 and S1..S3."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from simjudge.core.errors import UsageError
from simjudge.core.frames import IntArray


def random_parts(groups: Sequence[str], count: int, seed: int = 0) -> list[IntArray]:
    """Deal frames into parts at random, all frames of one group into the same part.

    Groups are shuffled, then dealt one by one to the part that holds the fewest frames: where every frame is a group of
    its own, the parts' sizes differ by one at most.

    Args:
        groups: the group of each frame, such as the photograph it is a variant of; the frame's name for none.
        count: how many parts.
        seed: 0 or more.

    Returns:
        The frames of each part, ascending int64; every frame is in exactly one.

    Raises:
        UsageError: there are fewer groups than parts, or the seed is negative.
    """
    if seed < 0:
        raise UsageError(f"seed {seed}: must be 0 or more")
    members: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    if count < 1 or len(members) < count:
        raise UsageError(f"{count} parts of {len(members)} separable frames: ask for 1 to {len(members)} parts")
    parts: list[list[int]] = [[] for _ in range(count)]
    order = sorted(members)
    for group in np.random.default_rng(seed).permutation(len(order)):
        min(parts, key=len).extend(members[order[int(group)]])
    return [np.array(sorted(part), np.int64) for part in parts]
