"""A short memory of cones: where they stand in the odometry's frame, also those that have left the view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from simjudge.core.frames import BoolArray, FloatArray, IntArray
from simjudge.driving.camera_model import CameraModel
from simjudge.driving.cones import ConeObservations
from simjudge.geometry.poses import Pose

_FAR = 1e6


@dataclass(frozen=True)
class ConeMapParameters:
    """How cones are remembered.

    Attributes:
        gate: metres; a sighting farther from every known cone is a new one.
        sigmas: the same as multiples of the standard deviation; both must hold.
        drift: standard deviation of the odometry after a metre, metres; it grows with the way's root.
        reach: metres from the car beyond which a cone is forgotten.
        apart: metres; of two cones nearer than that, which cannot both be, the one that is trusted less is forgotten.
        sure: metres within which a cone in view should be detected. A sighting from so near adds 1 to the trust in a
            cone, one from farther off less, by the square of the distance.
        missed: what a sighting that should have come and did not takes away; at 0 a cone is forgotten.
        trust: from which on a cone counts.
        most_trust: there is no more than that.
    """

    gate: float = 0.35
    sigmas: float = 3.5
    drift: float = 0.02
    reach: float = 8.0
    apart: float = 0.2
    sure: float = 2.5
    missed: float = 0.3
    trust: float = 1.5
    most_trust: float = 5.0


class ConeMap:
    """Cones by place and class.

    Attributes:
        position: float64 (N, 2), metres, odometry frame.
        covariance: float64 (N, 2, 2), square metres.
        votes: float64 (N, 2), scores that spoke for each of the two classes.
    """

    def __init__(self, classes: tuple[int, int], memory: ConeMapParameters | None = None) -> None:
        """Know nothing yet.

        Args:
            classes: ids of the two classes that count; others are not remembered.
            memory: how cones are remembered.
        """
        self._classes, self._memory = np.array(classes), memory or ConeMapParameters()
        self.position, self.covariance = np.empty((0, 2)), np.empty((0, 2, 2))
        self.votes = np.empty((0, 2))
        self._trust: FloatArray = np.empty(0)

    def __len__(self) -> int:
        """The number of cones, trusted or not."""
        return len(self.position)

    def trusted(self) -> BoolArray:
        """Which cones were seen often and near enough to count."""
        enough: BoolArray = self._trust >= self._memory.trust
        return enough

    def weighted_covariance(self) -> FloatArray:
        """Covariance (N, 2, 2) of each place, square metres, larger the less a cone is trusted."""
        little: FloatArray = self._memory.most_trust / self._trust
        return self.covariance * little[:, None, None]

    def class_id(self) -> IntArray:
        """What each cone most probably is."""
        ids: IntArray = self._classes[np.argmax(self.votes, 1)] if len(self) else np.empty(0, np.int64)
        return ids

    def predict(self, distance: float, car: Pose) -> None:
        """The car has gone on: doubt grows with the way, and what is far away is forgotten."""
        self.covariance = self.covariance + (self._memory.drift**2 * abs(distance)) * np.eye(2)
        away = np.linalg.norm(self.position - np.array(car.position[:2]), axis=1)
        self._keep(away <= self._memory.reach)

    def update(self, seen: ConeObservations, view: CameraModel, camera: Pose) -> None:
        """Take in what one picture shows.

        Args:
            seen: in the odometry's frame.
            view: the camera's lens.
            camera: pose of its optical frame in the odometry's frame, when the picture was taken.
        """
        known = np.flatnonzero(np.isin(seen.class_id, self._classes))
        rows, columns = self._pairs(seen, known)
        expected = self._expected(view, camera)
        expected[rows] = False
        eye = np.array(camera.position[:2])
        worth = np.minimum((self._memory.sure / np.linalg.norm(seen.position - eye, axis=1)) ** 2, 1.0)
        self._trust[rows] = np.minimum(self._trust[rows] + worth[columns], self._memory.most_trust)
        self._trust[expected] -= self._memory.missed
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            self._refine(row, seen.position[column], seen.covariance[column])
            self.votes[row] += self._vote(seen, column)
        new = np.setdiff1d(known, columns)
        self.position = np.concatenate([self.position, seen.position[new]])
        self.covariance = np.concatenate([self.covariance, seen.covariance[new]])
        self.votes = np.concatenate([self.votes, np.array([self._vote(seen, i) for i in new]).reshape(-1, 2)])
        self._trust = np.concatenate([self._trust, worth[new]])
        self._keep(self._trust > 0)
        self._keep(self._alone())

    def _pairs(self, seen: ConeObservations, known: IntArray) -> tuple[IntArray, IntArray]:
        """Cones and the sightings of them: the assignment with the least Mahalanobis distances, within the gate."""
        if not len(self) or not len(known):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        apart = self.position[:, None] - seen.position[known]
        both = self.covariance[:, None] + seen.covariance[known]
        squares = np.einsum("ijk,ijkl,ijl->ij", apart, np.linalg.inv(both), apart)
        # A far cone is known badly along the ray; there the gate grows with the doubt.
        gate = np.maximum(self._memory.gate, 0.5 * np.sqrt(np.linalg.eigvalsh(both)[..., -1]))
        good = (np.linalg.norm(apart, axis=2) <= gate) & (squares <= self._memory.sigmas**2)
        rows, columns = linear_sum_assignment(np.where(good, squares, _FAR))
        near = good[rows, columns]
        return rows[near].astype(np.int64), known[columns[near]]

    def _alone(self) -> BoolArray:
        """Which cones stand in the way of none that is trusted more."""
        order = np.argsort(-self._trust, kind="stable")
        place = self.position[order]
        near = np.linalg.norm(place[:, None] - place, axis=2) < self._memory.apart
        kept = np.zeros(len(self), np.bool_)
        for rank in range(len(self)):
            kept[rank] = not (near[rank, :rank] & kept[:rank]).any()
        out = np.empty_like(kept)
        out[order] = kept
        return out

    def _refine(self, row: int, position: FloatArray, covariance: FloatArray) -> None:
        """A Kalman step for something that stands still."""
        gain = self.covariance[row] @ np.linalg.inv(self.covariance[row] + covariance)
        self.position[row] += gain @ (position - self.position[row])
        self.covariance[row] = (np.eye(2) - gain) @ self.covariance[row]

    def _vote(self, seen: ConeObservations, number: int) -> FloatArray:
        # A score of 0 is a vote, too.
        vote: FloatArray = np.where(self._classes == seen.class_id[number], max(float(seen.score[number]), 0.01), 0.0)
        return vote

    def _expected(self, view: CameraModel, camera: Pose) -> BoolArray:
        """Which cones stand near and well inside the picture."""
        foot = np.column_stack([self.position, np.zeros(len(self))])
        inside = camera.to_body(foot)
        with np.errstate(invalid="ignore"):
            pixels = view.project(inside)
            width, height = view.size
            margin = 0.05 * np.array([width, height])
            shown = np.all((pixels > margin) & (pixels < np.array([width, height]) - margin), axis=1)
        near: BoolArray = shown & (np.linalg.norm(inside, axis=1) < self._memory.sure)
        return near

    def _keep(self, rows: BoolArray) -> None:
        self.position, self.covariance = self.position[rows], self.covariance[rows]
        self.votes, self._trust = self.votes[rows], self._trust[rows]
