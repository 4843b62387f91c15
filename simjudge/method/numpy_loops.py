"""The compiled loops once more, in NumPy: for small sets on a machine that has not compiled them yet.

Each function takes what the loop of its name takes (see there) and gives the same numbers. Sums run in the same order
where that is free (`cumsum`, `add.at`); elsewhere they may differ in the last bit.
"""
# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, D103, PLR0913, PLR0915, PLR0917

from __future__ import annotations

import math

import numpy as np

from simjudge.method.bits import CACHE_LINE
from simjudge.method.small_batches import UNTOLD, crossed_share, inflation, shortfall

_BITS_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], np.uint8)
_FOLD_AT_ZERO, _FAR = math.sqrt(2 / math.pi), 40.0
_erf = np.frompyfunc(math.erf, 1, 1)


def _total(values):
    """The sum in the order of the values, as a loop adds them."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


# Patches


def _shown_parts(frame, first_row, shown, origin, window, i):
    rows = np.arange(first_row[frame[i]], first_row[frame[i] + 1])
    low = np.maximum(shown[rows, :2] - origin[i], window[i, :2])
    high = np.minimum(shown[rows, 2:] - origin[i], window[i, 2:])
    seen = (low < high).all(1)
    return rows[seen], low[seen], high[seen]


def count_planes(frame, first_row, shown, plane, plane_count, origin, window):
    del plane_count
    parts = (_shown_parts(frame, first_row, shown, origin, window, i)[0] for i in range(len(frame)))
    return np.array([len(set(plane[rows].tolist())) for rows in parts], np.int64)


def fill_planes(scene, width, pixels, planes):
    frame, first_row, shown, plane, _, origin, window = scene
    mask_origin, mask_shape, mask_bits, mask_start = pixels
    start, plane_class, words, plane_area = planes
    height = int(window[:, 3].max(initial=0))
    for i in range(len(frame)):
        rows, low, high = _shown_parts(frame, first_row, shown, origin, window, i)
        classes = np.unique(plane[rows])
        picture = np.zeros((len(classes), height, width), np.bool_)
        for o, first, end in zip(rows.tolist(), low, high, strict=True):
            shape, corner = mask_shape[o], mask_origin[o] - origin[i]
            if shape[0] > 0:
                first, end = np.maximum(first, corner), np.minimum(end, corner + shape[::-1])  # noqa: PLW2901 - cut
            (c0, r0), (c1, r1) = first.tolist(), np.maximum(first, end).tolist()
            target = picture[int(np.searchsorted(classes, plane[o]))][r0:r1, c0:c1]
            if shape[0] > 0:
                bits = np.unpackbits(mask_bits[mask_start[o] : mask_start[o + 1]])[: shape.prod()].reshape(shape)
                left, top = corner.tolist()
                target |= bits[r0 - top : r1 - top, c0 - left : c1 - left].astype(np.bool_)
            else:
                target[:] = True
        own = slice(start[i], start[i + 1])
        plane_class[own], plane_area[own] = classes, picture.sum((1, 2))
        # Words are little-endian, so the bits of bytes come in the order of the bits of words.
        packed = np.packbits(picture.reshape(len(classes), height * width), axis=1, bitorder="little")
        # Words are padded to whole cache lines; the rest stays zero.
        words[own].view(np.uint8)[:, : packed.shape[1]] = packed


def copy_planes(rows, start, plane_class, words, plane_area, first, into_class, into_words, into_area):
    count = start[rows + 1] - start[rows]
    # The ranges start..start + count of all rows behind each other, without a loop.
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    source, to = np.repeat(start[rows], count) + within, np.repeat(first, count) + within
    into_class[to], into_area[to], into_words[to] = plane_class[source], plane_area[source], words[source]


# Identical contexts


def hash_contexts(start, plane_class, words, out):
    del start, plane_class, words
    out[:] = 0  # find_like compares contexts themselves


def find_like(start, plane_class, words, start_b, plane_class_b, words_b, hashes, order, like):
    del hashes, order
    first: dict[tuple[bytes, bytes], int] = {}
    count = len(start) - 1
    for i in range(len(like)):
        # Contexts of B are numbered behind those of A.
        starts, classes, bits, k = (
            (start, plane_class, words, i) if i < count else (start_b, plane_class_b, words_b, i - count)
        )
        own = slice(starts[k], starts[k + 1])
        like[i] = first.setdefault((classes[own].tobytes(), bits[own].tobytes()), i)


# The tree: NumPy compares all with all. The order is by area, and the bounds hold whatever is in a context


def project(rows, start, plane_class, words, layout, random, into, out):
    del rows, start, plane_class, words, layout, random, into, out


def sort_by_likeness(features, area, order):
    del features
    order[:] = np.argsort(area, kind="stable")


def fill_bounds(words, height, width, run, unit, blocks, cells, lines):
    del height, width, run, unit
    blocks[:], cells[:] = 255, 255
    lines[:] = 0, words.shape[1] * words.itemsize // CACHE_LINE


def raise_cells(cells, plane_of, out):
    del cells, plane_of
    out[:] = 255


# The join


def join_rows(rows, wanted, begin, columns, leaves, nodes, sizes, thetas, strict, most_items):
    del leaves, nodes, sizes, most_items
    wanted = wanted[begin:]
    inter = _intersections(rows, wanted, columns)
    union = rows.area[wanted][:, np.newaxis] + columns.area - inter
    passed = np.zeros(inter.shape, np.uint8)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(union > 0, inter / union, 0.0)
    for theta in thetas.tolist():
        reaches = np.where(union > 0, share > theta, theta < 0) if strict else inter >= theta * union
        if not strict:
            reaches = np.where(union > 0, reaches, theta <= 0)
        # A level counts thresholds from the lowest on; one that is missed ends the count, as in the loop.
        passed += reaches & (passed == np.count_nonzero(thetas < theta))
    row, place = np.nonzero(passed)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(wanted)))]).astype(np.int64)
    return begin + len(wanted), start, place.astype(np.int32), passed[row, place], share[row, place]


def _intersections(rows, wanted, columns):
    """int64 (R, N), plane by plane."""
    inter = np.zeros((len(wanted), len(columns.area)), np.int64)
    column_of = np.repeat(np.arange(len(columns.area)), np.diff(columns.start))
    of_kind = {kind: np.flatnonzero(columns.plane_class == kind) for kind in np.unique(columns.plane_class).tolist()}
    for r, i in enumerate(wanted.tolist()):
        for p in range(rows.start[i], rows.start[i + 1]):
            planes = of_kind.get(int(rows.plane_class[p]), np.zeros(0, np.int64))
            # No column has two planes of a kind.
            set_here = np.flatnonzero(rows.words[p])
            inter[r, column_of[planes]] += _count_bits(
                columns.words[np.ix_(planes, set_here)] & rows.words[p, set_here]
            )
    return inter


def _count_bits(words):
    """How many bits of each row are set."""
    if hasattr(np, "bitwise_count"):  # from NumPy 2 on
        return np.bitwise_count(words).sum(1, dtype=np.int64)
    return _BITS_OF_BYTE[words.view(np.uint8)].sum(1, dtype=np.int64)


def find_matches(start, place, similarity, matches, best, best_similarity):
    row, match = np.repeat(np.arange(len(start) - 1), np.diff(start)), matches[place]
    # Per row the most similar first, and of equal ones the smallest number: `unique` below takes the first.
    order = np.lexsort((match, -similarity, row))
    order = order[match[order] >= 0]
    found, first = np.unique(row[order], return_index=True)
    best[found], best_similarity[found] = match[order[first]], similarity[order[first]]


def list_samples(start, place, level, first_rank, ranks):
    count = (first_rank[place + 1] - first_rank[place]).astype(np.int64)
    row = np.repeat(np.repeat(np.arange(len(start) - 1), np.diff(start)), count)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    rank = ranks[np.repeat(first_rank[place], count) + within].astype(np.int32)
    order = np.lexsort((rank, row))
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(start) - 1))]).astype(np.int64)
    return first, rank[order], np.repeat(level, count)[order]


# Batches


def _merge(values, from_a, n_a, n_b):
    if len(values) < 2:
        return 0.0
    # |F_a - F_b| in whole counts over n_a n_b: exact until the last division.
    of_a, both = np.cumsum(from_a)[:-1], np.arange(1, len(values))
    return _total(np.abs(of_a * n_b - (both - of_a) * n_a) * np.diff(values)) / (n_a * n_b)


def compare_rows(start, rank, level, performance, from_a, theta_count, min_batch, w1, difference, batch):
    for r in range(len(start) - 1):
        own = slice(start[r], start[r + 1])
        for t in range(theta_count):
            kept = rank[own][level[own] > t]
            values, of_a = performance[kept], from_a[kept]
            n_a = int(of_a.sum())
            n_b = len(kept) - n_a
            batch[r, t] = n_a, n_b
            w1[r, t] = difference[r, t] = np.nan
            if n_a >= min_batch and n_b >= min_batch:
                w1[r, t] = _merge(values, of_a, n_a, n_b)
                difference[r, t] = _total(values[of_a]) / n_a - _total(values[~of_a]) / n_b


def mark_overlap(start, rank, level, compared_level, overlap):
    # A sample is in the overlap at the levels at which both the pair and the whole row count.
    reached = np.repeat(compared_level, np.diff(start)).astype(np.uint8)
    np.maximum.at(overlap, rank, np.minimum(level, reached))


def mean_differences(start, rank, level, above, covariates, in_b, difference):
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    kept = level > above
    row, rank = row[kept], rank[kept]
    side = in_b[rank].astype(np.int64)
    sums, count = np.zeros((len(start) - 1, 2, covariates.shape[1])), np.zeros((len(start) - 1, 2, 1))
    # One by one, in the order of the loop: sums of pairs would differ in the last bit.
    np.add.at(sums, (row, side), covariates[rank])
    np.add.at(count, (row, side), 1.0)
    with np.errstate(invalid="ignore"):
        mean = sums / count
    difference[:] = mean[:, 0] - mean[:, 1]


def fold(gap, noise, out):
    spread = noise / _FOLD_AT_ZERO
    # Far from zero the folded normal is the gap itself, and erf would cost time for nothing.
    near = gap < _FAR * spread
    ratio = np.divide(gap, spread, out=np.zeros_like(spread), where=near)
    # Mean of |N(gap, spread)| in units of the spread (Leone, Nelson and Nottingham, 1961).
    curve = _FOLD_AT_ZERO * np.exp(-ratio * ratio / 2) + ratio * _erf(ratio / math.sqrt(2)).astype(np.float64)
    out[:] = np.where(near, spread * curve, gap)


# Draws


def fill_batch(rank, samples, expected, adjusted):
    """Values, signed weights, distribution functions and side of a batch."""
    residual, found, found_share, from_a = (column[rank] for column in samples[:4])
    moved = np.clip(residual + expected[0], 0.0, 1.0) if adjusted else residual
    value = np.where(found, moved, 0.0)
    weight = np.where(found, expected[1] / found_share, (1 - expected[1]) / (1 - found_share))
    for side in (from_a, ~from_a):
        # A side without weight has no distribution: NaN keeps it out of every sum.
        weight[side] /= _total(weight[side]) or np.nan
    weight[~from_a] *= -1
    return value, weight, np.cumsum(np.where(from_a, weight, 0.0)), np.cumsum(np.where(from_a, 0.0, -weight)), from_a


def _count_distinct(*numbers):
    return min(len(set(column.tolist())) for column in numbers)


def crossed_scale(rank, samples, blocks, value, weight, from_a):
    """By what to multiply draws that carry units and blocks."""
    if blocks == 0:
        return 1.0
    # Weights of B are negative: the sign gives its mean back.
    mean = np.where(from_a, _total((weight * value)[from_a]), -_total((weight * value)[~from_a]))
    share, timed = weight * (value - mean), samples[5][rank] < blocks
    squares = [
        float((np.bincount(number[rank][held], share[held]) ** 2).sum())
        for number, held in zip(samples[4:7], (np.ones_like(timed), timed, timed), strict=True)
    ]
    return float(crossed_share(*squares))


def row_shifts(rank, from_a, value, weight, shift):
    """(draws,) the shift of a batch as Student has it, and as a normal number."""
    recording, mean, own, doubted, normal, _ = shift
    part = -mean
    for side in (from_a, ~from_a):
        middle = _total((weight * value)[side]) / _total(weight[side])
        held = recording[rank[side]]
        count = len(set(held.tolist()))
        if count > 1:
            part = part + inflation(count) * np.bincount(held, (weight * (value - middle))[side], len(mean))
    return doubted + part @ own, normal + part @ own


def shift_profile(value, pooled, width, sign):
    """By step, from 0 to 1, by how much F differs from what a shift of `sign * width` makes of it, for a shift of 1."""
    edge = np.concatenate([[0.0], value, [1.0]])
    # F is level between samples, and its integral is straight there.
    corner = np.concatenate([[-2.0], value, [3.0]])
    area = np.concatenate([[0.0, 0.0], np.cumsum(pooled * np.diff(corner)[1:])])
    return (
        sign * (np.diff(np.interp(edge, corner, area)) - np.diff(np.interp(edge - sign * width, corner, area))) / width
    )


def _area(drawn, step, by_shift):
    """(draws,) the area of what was drawn by step, and of what a shift makes of each, beyond the samples too."""
    if by_shift is None:
        return (np.abs(drawn) * step).sum(0)
    return np.abs(drawn * step + by_shift[1:-1]).sum(0) + np.abs(by_shift[0]) + np.abs(by_shift[-1])


def add_drawn(
    start,
    rank,
    own,
    expected,
    adjusted,
    samples,
    normal,
    sign,
    blocks,
    shift,
    min_batch,
    seen_unit,
    seen_block,
    row_units,
    row_scale,
    row_w1,
    row_noise,
    row_square,
    chance,
    around,
    around_square,
    extreme,
    moved,
    moved_normal,
):
    del seen_unit, seen_block
    unit, block, cell = samples[4:7]
    draws, flips, shifted = normal.shape[1], sign.shape[1] > 0, len(shift[3]) > 0
    by_chance = by_noise = None
    for r in range(len(start) - 1):
        near = rank[start[r] : start[r + 1]]
        n_a = int(samples[3][near].sum())
        n_b = len(near) - n_a
        if own[r] == 0 or min(n_a, n_b) < max(1, min_batch):
            continue
        value, weight, share_a, share_b, from_a = fill_batch(near, samples, expected[r], adjusted)
        units_a, units_b = (_count_distinct(unit[near[side]], block[near[side]]) for side in (from_a, ~from_a))
        if min(units_a, units_b) < 2:
            row_w1[r] = UNTOLD
            continue
        row_units[r] = units_a + units_b
        more_chance, more, more_square = shortfall(units_a, units_b)
        if flips and units_a == units_b == _count_distinct(unit[near]):
            more_chance = 1.0
        step = np.diff(value)
        row_w1[r] = _total(np.abs(share_a - share_b)[:-1] * step)
        if draws == 0:
            continue
        scale = row_scale[r] = crossed_scale(near, samples, blocks, value, weight, from_a)
        row_noise[r], row_square[r] = np.nan_to_num([row_noise[r], row_square[r]])
        part_a, step = n_a / (n_a + n_b), step[:, np.newaxis]
        pooled = (part_a * share_a + (1 - part_a) * share_b)[:, np.newaxis]
        numbers = weight[:, np.newaxis] * normal[cell[near]]
        of_a, of_b = (np.cumsum(np.where(side[:, np.newaxis], numbers, 0.0), axis=0) for side in (from_a, ~from_a))
        all_a, all_b = of_a[-1], of_b[-1]
        so_far_a, so_far_b = of_a[:-1], of_b[:-1]
        # (K - 1, draws): each side around its own distribution function, which is the noise without a gap.
        inside = scale * inflation(units_a) * (so_far_a - share_a[:-1, np.newaxis] * all_a)
        inside += scale * inflation(units_b) * (so_far_b - share_b[:-1, np.newaxis] * all_b)
        if shifted:
            row_moved = row_shifts(near, from_a, value, weight, shift)
            moved += own[r] * row_moved[0]
            moved_normal += own[r] * row_moved[1]
            profiles = np.stack([shift_profile(value, pooled[:, 0], shift[5], end) for end in (1, -1)])
            by_chance, by_noise = (np.where(each > 0, *profiles[:, :, np.newaxis]) * each for each in row_moved)
        within = _area(inside, step, by_noise)
        redrawn = _area((share_a - share_b)[:-1, np.newaxis] + inside, step, by_noise)
        around += own[r] * redrawn
        around_square += own[r] * redrawn * redrawn
        extreme += own[r] * np.abs((1 - part_a) * all_a - part_a * all_b)
        row_noise[r] = _total(np.concatenate([[row_noise[r]], more * within]))
        row_square[r] = _total(np.concatenate([[row_square[r]], more_square * within * within]))
        if flips:
            so_far = np.cumsum(weight[:, np.newaxis] * sign[cell[near]], axis=0)
            drawn = so_far[:-1] - pooled[:-1] * so_far[-1]
        else:
            drawn = so_far_a + so_far_b - pooled[:-1] * (all_a + all_b)
        if shifted:
            chance += own[r] * _area(scale * more_chance * drawn, step, by_chance)
        else:
            chance += own[r] * scale * more_chance * _area(drawn, step, by_chance)


def add_kinds(
    start,
    rank,
    expected,
    adjusted,
    samples,
    bits,
    first_own,
    own,
    own_bits,
    min_batch,
    seen_unit,
    seen_block,
    contexts,
    performance,
    chance,
    noise,
    held,
):
    del seen_unit, seen_block
    unit, block, time, cell = samples[4:8]
    kinds = len(contexts)
    is_of, own_is_of = (
        np.unpackbits(packed.view(np.uint8), axis=1, bitorder="little")[:, :kinds].astype(np.bool_)
        for packed in (bits, own_bits)
    )
    for r in range(len(start) - 1):
        near = rank[start[r] : start[r + 1]]
        times = own_is_of[own[first_own[r] : first_own[r + 1]]].sum(0)
        if not len(near) or not times.any():
            continue
        value, weight, _, _, from_a = fill_batch(near, samples, expected[r], adjusted)
        sides = [is_of[near] & side[:, np.newaxis] for side in (from_a, ~from_a)]
        count = np.stack([side.sum(0) for side in sides])
        units = np.stack(
            [np.minimum(*(_distinct_by_kind(numbers[near], side) for numbers in (unit, block))) for side in sides]
        )
        kept = np.flatnonzero((times > 0) & (count.min(0) >= max(1, min_batch)) & (units.min(0) >= 2))
        size = np.abs(weight)[:, np.newaxis]
        for k in kept.tolist():
            of_k = [side[:, k] for side in sides]
            total = [_total(size[side, 0]) for side in of_k]
            mean = np.array([_total(size[side, 0] * value[side]) for side in of_k]) / total
            pooled = (count[:, k] * mean).sum() / count[:, k].sum()
            contexts[k] += times[k]
            performance[k] += times[k] * mean
            for s in range(2):
                members = near[of_k[s]]
                # Weights of A are positive and of B negative: the sign makes sums B less A.
                signed = -times[k] * weight[of_k[s]] / total[s]
                by_chance = signed * (value[of_k[s]] - pooled) * inflation(int(units[:, k].sum()))
                within = signed * (value[of_k[s]] - mean[s]) * inflation(int(units[s, k]))
                timed = time[members] >= 0
                for sums, part in ((chance, by_chance), (noise, within)):
                    np.add.at(sums[0][k], unit[members], part)
                    np.add.at(sums[1][k], time[members][timed], part[timed])
                np.add.at(noise[2][k], cell[members][timed], within[timed])
                held[k, unit[members]] |= np.uint8(1 + s)


def _distinct_by_kind(numbers, is_of):
    """How many different numbers each kind has."""
    order = np.argsort(numbers, kind="stable")
    # Where a new number begins; the prepended one differs from the first for sure.
    first = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[:1]] - 1))
    return np.logical_or.reduceat(is_of[order], first, axis=0).sum(0)
