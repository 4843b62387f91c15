"""Rays in Mitsuba's arrays: trees of meshes that Embree or OptiX searches, kernels that Dr.Jit compiles once.

A new tree for a car takes longer than all rays that come near it. So each of the few things that move all the time
stands still in a place of its own, far enough from the others, and rays are brought there: into the frame of the
thing, cut to its box.

On a GPU all things are in one scene, and what only stands is in another that no kernel shares with it: where two of
OptiX's scenes meet in one kernel, Dr.Jit leaves out the rays of one, with a warning alone.

To be imported when Mitsuba's variant has been set.

`try_picture` makes a small picture through a variant, for `variant`: run where an abort does no harm. LLVM 15 and 16
pass simple kernels and abort on larger ones, so the trial is the tracer's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import drjit as dr
import mitsuba as mi
import numpy as np

from simjudge.core.arrays import FloatArray, IntArray
from simjudge.core.errors import SimjudgeError
from simjudge.geometry.poses import Pose
from simjudge.sim.engines.default.integrator import Integrator
from simjudge.sim.engines.default.lookups import OFFSET
from simjudge.sim.engines.default.packed import Faces, Floats, pack, world_vertices
from simjudge.sim.engines.default.tracer import Hit, Input, Output, Rays, View
from simjudge.sim.scene.model import Mesh, PointLight, Scene, Surface, Thing

_LINE = 16  # Numbers in a cache line
_MOST = 8  # Moving things from which one tree of all, built anew, is quicker than one search a thing
_ROOM = 1e-3  # Metres around the box about a thing, for rounding


class Part(NamedTuple):
    """A thing that rays may hit."""

    number: int
    own: FloatArray  # float (V, 3), vertices in the thing's frame, metres
    vertices: Floats  # float32 (V, 3), vertices in the world, metres
    faces: Faces  # int32 (F, 3), numbers of vertices


class Found(NamedTuple):
    """What rays hit first."""

    valid: Any  # mask: they hit something. The rest means nothing where they do not
    distance: Any  # metres
    shape: Any  # number by which kernels know the mesh
    prim: Any
    uv: Any  # weights of the face's second and third corner


class RayTree(Protocol):
    """Some things, for rays."""

    @property
    def shapes(self) -> Mapping[int, int]:
        """The numbers by which kernels know the things' meshes, by index of the thing."""

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        """Put things elsewhere; arguments as of `Tracer.move`."""

    def first(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Found:
        """What rays hit first (origin: world, metres; limit: distance from which nothing counts, metres)."""

    def any(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Any:
        """Mask: something is nearer than the limit. Arguments as of `first`."""


def one_scene_a_kernel() -> bool:
    """Whether what traces here takes only one scene in a kernel: OptiX."""
    return str(mi.variant()).startswith("cuda")


def make_tree(parts: Sequence[Part], *, moving: bool = False) -> RayTree:
    """The tree for some things."""
    return RigidTree(parts) if moving and 0 < len(parts) <= _MOST else RebuiltTree(parts)


class RebuiltTree:
    """See `RayTree`: built anew when something of it moves."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._scene, self._ids, self.shapes = _scene(parts, [part.vertices for part in parts])
        self._parameters = mi.traverse(self._scene)

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:  # noqa: ARG002
        """See `RayTree.move`."""
        ours = [index for index in moved if index in self._ids]
        for index in ours:
            self._parameters[f"{self._ids[index]}.vertex_positions"] = mi.Float(aligned(moved[index]))
        if ours:
            self._parameters.update()

    def first(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Found:
        """See `RayTree.first`."""
        if not self._ids:
            width = dr.width(direction)
            nothing = dr.zeros(mi.UInt32, width)
            return Found(mi.Bool(False), dr.zeros(mi.Float, width), nothing, nothing, dr.zeros(mi.Point2f, width))  # noqa: FBT003
        ray = mi.Ray3f(origin, direction, limit, 0.0, [])
        return _found(self._scene.ray_intersect_preliminary(ray, coherent=together, active=active), active)

    def any(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Any:
        """See `RayTree.any`."""
        ray = mi.Ray3f(origin, direction, limit, 0.0, [])
        return self._scene.ray_test(ray, coherent=together, active=active) if self._ids else mi.Bool(False)  # noqa: FBT003


class RigidTree:
    """See `RayTree`: each thing in a place of its own, where rays are brought."""

    def __init__(self, parts: Sequence[Part]) -> None:
        low = np.array([part.own.min(0) for part in parts]) - _ROOM
        high = np.array([part.own.max(0) for part in parts]) + _ROOM
        # Side by side along x: two boxes never meet, so that a ray within one of them can hit nothing else.
        self._shifts = -(low + high) / 2
        self._shifts[1:, 0] += np.cumsum((high - low)[:-1, 0] + (high - low)[1:, 0])
        placed = [(part.own + shift).astype(np.float32) for part, shift in zip(parts, self._shifts, strict=True)]
        self._scene, self._ids, self.shapes = _scene(parts, placed)
        self._numbers = [part.number for part in parts]
        self._bounds = np.hstack([low + self._shifts, high + self._shifts])
        self._frames: list[list[Any]] = []

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:  # noqa: ARG002
        """See `RayTree.move`."""
        rotations, positions = rotations[self._numbers], positions[self._numbers]
        shifts = self._shifts - np.einsum("pji,pj->pi", rotations, positions)
        rows = np.hstack([rotations.transpose(0, 2, 1).reshape(-1, 9), shifts, self._bounds])
        self._frames = [[dr.opaque(mi.Float, number) for number in row] for row in rows.tolist()]

    def first(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Found:
        """See `RayTree.first`."""
        width = dr.width(direction)
        nothing = dr.zeros(mi.UInt32, width)
        start = dr.zeros(mi.Float, width) + limit
        known = Found(dr.zeros(mi.Bool, width), start, nothing, nothing, dr.zeros(mi.Point2f, width))
        for frame in self._frames:
            ray, skipped, within = _brought(frame, origin, direction, known.distance, active)

            def search(
                ray: Any = ray, skipped: Any = skipped, within: Any = within, known: Found = known
            ) -> tuple[Any, ...]:
                found = _found(self._scene.ray_intersect_preliminary(ray, coherent=together, active=within), within)
                found = found._replace(distance=found.distance + skipped)
                nearer = [dr.select(found.valid, new, old) for new, old in zip(found[1:], known[1:], strict=True)]
                return known.valid | found.valid, *nearer

            def keep(known: Found = known) -> tuple[Any, ...]:
                return tuple(known)

            known = Found(*dr.if_stmt((), within, search, keep))
        return known

    def any(self, origin: Any, direction: Any, limit: Any, active: Any, *, together: bool) -> Any:
        """See `RayTree.any`."""
        hit = dr.zeros(mi.Bool, dr.width(direction))
        for frame in self._frames:
            ray, _, within = _brought(frame, origin, direction, limit, active & ~hit)

            def search(ray: Any = ray, within: Any = within) -> Any:
                return within & self._scene.ray_test(ray, coherent=together, active=within)

            hit = hit | dr.if_stmt((), within, search, lambda: mi.Bool(False))  # noqa: FBT003
        return hit


def _brought(frame: Sequence[Any], origin: Any, direction: Any, limit: Any, active: Any) -> tuple[Any, Any, Any]:
    """Rays in a thing's place, from where they enter its box; how far that is; the mask of those that do."""
    turned = [
        [frame[3 * k] * v[0] + frame[3 * k + 1] * v[1] + frame[3 * k + 2] * v[2] for k in range(3)]
        for v in (direction, origin)
    ]
    enter, leave = mi.Float(0), limit
    for k in range(3):
        turned[1][k] += frame[9 + k]
        inverse = 1 / turned[0][k]
        ends = (frame[12 + k] - turned[1][k]) * inverse, (frame[15 + k] - turned[1][k]) * inverse
        enter, leave = dr.maximum(enter, dr.minimum(*ends)), dr.minimum(leave, dr.maximum(*ends))
    way, begin = mi.Vector3f(*turned[0]), mi.Point3f(*turned[1])
    return mi.Ray3f(begin + enter * way, way, leave - enter, 0.0, []), enter, active & (leave > enter)


def aligned(values: Any) -> Any:
    """A flat copy of float32 or int32 numbers from a cache line on: Mitsuba compiles other kernels beside it."""
    room = np.empty(values.size + _LINE, values.dtype)
    begin = -room.ctypes.data % (4 * _LINE) // 4
    room[begin : begin + values.size] = values.ravel()
    return room[begin : begin + values.size]


def _found(preliminary: Any, active: Any) -> Found:
    shape = dr.reinterpret_array(mi.UInt32, preliminary.shape)
    valid = preliminary.is_valid() & active
    return Found(valid, preliminary.t, shape, preliminary.prim_index, preliminary.prim_uv)


def _scene(parts: Sequence[Part], vertices: Sequence[Floats]) -> tuple[Any, dict[int, str], dict[int, int]]:
    """Mitsuba's scene, the meshes' names in it, and their numbers, by index of the thing."""
    meshes = {part.number: _mesh(part, corners) for part, corners in zip(parts, vertices, strict=True)}
    # Merged meshes would lose which thing was hit.
    scene = mi.load_dict({"type": "scene", **{mesh.id(): mesh for mesh in meshes.values()}}, optimize=False)
    numbers = {k: int(dr.reinterpret_array(mi.UInt32, mi.ShapePtr(mesh))[0]) for k, mesh in meshes.items()}
    return scene, {index: mesh.id() for index, mesh in meshes.items()}, numbers


def _mesh(part: Part, vertices: Floats) -> Any:
    name = f"thing{part.number:06d}"
    mesh = mi.Mesh(name, len(vertices), len(part.faces))
    mesh.set_id(name)
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = mi.Float(aligned(vertices))
    parameters["faces"] = mi.UInt32(aligned(part.faces.astype(np.uint32)))
    parameters.update()
    return mesh


_SPHERE_ROOM = 1e-2  # Metres around the sphere about what moves
# The square of what rounding may do to the distance of a ray from a far point, over the square of its distance.
_ROUNDING = 1e-6


class MitsubaTracer:
    """See `simjudge.sim.engines.default.tracer.Tracer`."""

    xp = dr
    everywhere = True
    knows_open_ways = True
    wavefront = 1 << 21

    def __init__(self, parts: Sequence[Part], first_face: Any, moving: Sequence[bool], clear: Sequence[bool]) -> None:
        """Build it from the things' triangles.

        The few that move all the time have a tree of their own, so that the tree of all others is seldom built anew;
        so have those that are clear, which block no light.
        """
        kinds = [2 if glass else int(moves) for moves, glass in zip(moving, clear, strict=True)]
        of_kind = [[part for part, kind in zip(parts, kinds, strict=True) if kind == k] for k in range(3)]
        self._one_scene = one_scene_a_kernel()
        if self._one_scene:
            self._trees: list[RayTree] = [RebuiltTree(parts)]
        else:
            self._trees = [make_tree(of_kind[0]), make_tree(of_kind[1], moving=True)]
            if of_kind[2]:
                self._trees.append(make_tree(of_kind[2]))
        self._still, self._standing = of_kind[0], None if self._one_scene else self._trees[0]
        self._met: set[RayTree] = set()
        self._has_clear = bool(of_kind[2])
        self._moving = {part.number: part.vertices for part in of_kind[1]}
        self._sphere = _sphere(self._moving)
        shapes = {index: shape for tree in self._trees for index, shape in tree.shapes.items()}
        things = np.zeros((max(shapes.values(), default=0) + 1, 2), np.int32)
        for index, shape in shapes.items():
            things[shape] = index, first_face[index]
        self._things = self.table(things)
        self._clear = self.table(np.array([*clear, False], np.int32)[:, None])

    def move(self, moved: Mapping[int, Floats], rotations: FloatArray, positions: FloatArray) -> None:
        for tree in self._trees:
            tree.move(moved, rotations, positions)
        if self._one_scene:
            self._still = [
                part._replace(vertices=moved[part.number]) if part.number in moved else part for part in self._still
            ]
            if self._standing is not None:
                self._standing.move(moved, rotations, positions)
        if not self._moving.keys().isdisjoint(moved):
            self._moving |= {index: corners for index, corners in moved.items() if index in self._moving}
            self._sphere = _sphere(self._moving)

    def close(self) -> None:
        del self._trees, self._standing, self._things, self._clear
        self._met.clear()
        # Dr.Jit keeps what was freed for arrays of the same size: another scene's have other sizes.
        dr.flush_malloc_cache()

    def follow(self, work: Callable[[Input], Output], wavefronts: Sequence[Input]) -> list[Output]:
        return [work(wavefront) for wavefront in wavefronts]

    def table(self, rows: Any) -> Any:
        # A table of one row would be taken for a constant, and another kernel compiled for it.
        padded = np.concatenate([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
        return (mi.Int32 if rows.dtype == np.int32 else mi.Float)(aligned(padded))

    def row(self, table: Any, index: Any, width: int, active: Any) -> Any:
        kind = mi.ArrayXi if dr.is_integral_v(table) else mi.ArrayXf
        return dr.gather(kind, table, mi.UInt32(index), active, shape=(width, dr.width(index)))

    def given(self, columns: Floats) -> Any:
        kind = mi.Vector3f if columns.shape[1] == 3 else mi.Vector2f
        vectors = kind(*[mi.Float(aligned(column)) for column in columns.T])
        dr.eval(vectors)
        return vectors

    def same(self, values: Sequence[float]) -> Any:
        return [dr.opaque(mi.Float, float(value)) for value in values]

    def vector(self, numbers: Sequence[Any]) -> Any:
        return mi.Vector3f(*numbers)

    def dot(self, a: Any, b: Any) -> Any:
        return dr.dot(a, b)

    def cross(self, a: Any, b: Any) -> Any:
        return dr.cross(a, b)

    def angle(self, y: Any, x: Any) -> Any:
        return dr.atan2(y, x)

    def largest(self, vector: Any) -> Any:
        return dr.max(vector)

    def select(self, mask: Any, yes: Any, no: Any) -> Any:
        return dr.select(mask, yes, no)

    def whole(self, number: Any) -> Any:
        return mi.Int32(dr.floor(number))

    def decimal(self, integer: Any) -> Any:
        return mi.Float(integer)

    def hit(self, origin: Any, direction: Any, active: Any, *, together: bool = True) -> Hit:
        first, *others = self._trees
        found = self._meets(first).first(origin, direction, dr.inf, active, together=together)
        for number, tree in enumerate(others):
            asked = active if number else active & self._near_moving(origin, direction, dr.inf)
            found = _nearer(self._meets(tree), found, origin, direction, asked, together)
        thing = self.row(self._things, found.shape, 2, found.valid)
        return Hit(found.valid, found.distance, thing[0], thing[1] + mi.Int32(found.prim), found.uv.x, found.uv.y)

    def bit(self, integer: Any, number: Any) -> Any:
        return (integer >> mi.Int32(dr.minimum(number, 31))) & 1 > 0

    def blocked(
        self, origin: Any, direction: Any, distance: Any, active: Any, *, together: bool, open_way: Any = False
    ) -> Any:
        def any_of(tree: RayTree, asked: Any) -> Any:
            def search() -> Any:
                if self._one_scene and self._has_clear:
                    return self._opaque(self._meets(tree), origin, direction, distance, asked, together)
                return self._meets(tree).any(origin, direction, distance, asked, together=together)

            return dr.if_stmt((), asked, search, lambda: mi.Bool(False))  # noqa: FBT003

        if self._one_scene:
            near = self._near_moving(origin, direction, distance)
            return any_of(self._trees[0], active & (~mi.Bool(open_way) | near))
        standing, moving = self._trees[:2]
        blocked = any_of(standing, active & ~mi.Bool(open_way))
        return blocked | any_of(moving, active & ~blocked & self._near_moving(origin, direction, distance))

    def _opaque(self, tree: RayTree, origin: Any, direction: Any, distance: Any, active: Any, together: bool) -> Any:  # noqa: FBT001
        """Mask: something that is not clear is nearer than a distance; rays go on behind each clear face."""

        def more(asked: Any, _start: Any, _blocked: Any) -> Any:
            return asked

        def go_on(asked: Any, start: Any, blocked: Any) -> tuple[Any, Any, Any]:
            point = origin + start * direction
            found = tree.first(point, direction, distance - start, asked, together=together)
            thing = self.row(self._things, found.shape, 2, found.valid)[0]
            clear = found.valid & (self.row(self._clear, thing, 1, found.valid)[0] > 0)
            reached = point + found.distance * direction
            start = start + found.distance + OFFSET * (1 + dr.max(dr.abs(reached)))
            return asked & clear & (start < distance), start, blocked | (found.valid & ~clear)

        width = dr.width(direction + origin)
        begin = (mi.Bool(active) & dr.full(mi.Bool, True, width), dr.zeros(mi.Float, width), dr.zeros(mi.Bool, width))  # noqa: FBT003
        return dr.while_loop(begin, more, go_on, labels=("asked", "start", "blocked"))[2]

    def hidden(self, origin: Any, direction: Any, distance: Any, active: Any) -> Any:
        if self._standing is None:
            self._standing = RebuiltTree(self._still)
        return self._meets(self._standing).any(origin, direction, distance, active, together=True) & active

    def _meets(self, tree: RayTree) -> RayTree:
        """The tree, whose scene the next kernel holds; an error where it would hold two and must not."""
        self._met.add(tree)
        if self._one_scene and len(self._met) > 1:
            raise SimjudgeError("a kernel for the GPU would trace rays through two scenes, which OptiX does not do")
        return tree

    def _near_moving(self, origin: Any, direction: Any, distance: Any) -> Any:
        """Mask: the sphere that holds all that moves all the time is in the way; it has room for rounding."""
        centre = mi.Point3f(*self._sphere[:3]) - origin
        beside = centre - dr.clip(dr.dot(centre, direction), 0.0, distance) * direction
        return dr.dot(beside, beside) <= self._sphere[3] + _ROUNDING * dr.dot(centre, centre)

    def add_up(self, count: int, active: Any, term: Callable[[Any], Any], like: Any) -> Any:
        lamps = dr.opaque(mi.UInt32, count)

        def more(i: Any, _total: Any) -> Any:
            return active & (i < lamps)

        def add(i: Any, total: Any) -> tuple[Any, Any]:
            return i + 1, total + term(i)

        width = dr.width(like)
        start = (dr.zeros(mi.UInt32, width), dr.zeros(mi.Vector3f, width))
        return dr.while_loop(start, more, add, labels=("lamp", "light"))[1]

    def where(self, mask: Any, work: Callable[[], Any]) -> Any:
        return dr.if_stmt((), mask, work, lambda: dr.zeros(mi.Vector3f))

    def places(self, order: IntArray) -> Any:
        return mi.UInt32(mi.Int32(aligned(order.astype(np.int32))))

    def means(self, vector: Any, block: int, places: Any = None) -> Floats:
        if block > 1:
            self._met.clear()
            dr.eval(vector)  # at once: each number's mean would follow all rays anew
            vector = mi.Vector3f(*[dr.block_sum(vector[k], block) / block for k in range(3)])
        mean: Floats = self.host(vector, places=places)[0]
        return mean

    def host(self, *arrays: Any, places: Any = None) -> list[Any]:
        self._met.clear()
        if places is None:
            dr.eval(*arrays)
            return [np.array(array).T for array in arrays]
        # The kernel that computes the values puts them in their places: much less work than to sort them afterwards.
        placed = [_put(array, places) for array in arrays]
        dr.eval(*placed)
        rows = [dr.width(places), -1]
        return [
            placed_array.numpy().reshape(rows[: dr.depth_v(array)])
            for placed_array, array in zip(placed, arrays, strict=True)
        ]


def _put(array: Any, places: Any) -> Any:
    """Numbers, or vectors one after another, in their places."""
    columns = list(array) if dr.depth_v(array) > 1 else [array]
    placed = dr.empty(type(columns[0]), len(columns) * dr.width(places))
    for k, column in enumerate(columns):
        dr.scatter(placed, column, places * len(columns) + k, mode=dr.ReduceMode.Permute)
    return placed


def _sphere(vertices: Mapping[int, Floats]) -> Any:
    """Centre, and the square of the radius, of a sphere about some things."""
    corners = np.concatenate([np.zeros((0, 3)), *vertices.values()])
    low, high = (corners.min(0), corners.max(0)) if len(corners) else (np.zeros(3), np.zeros(3))
    radius = float(np.linalg.norm(high - low)) / 2 + _SPHERE_ROOM
    return [dr.opaque(mi.Float, number) for number in [*((low + high) / 2).tolist(), radius * radius]]


def _nearer(tree: RayTree, known: Found, origin: Any, direction: Any, active: Any, together: bool) -> Found:  # noqa: FBT001
    limit = dr.select(known.valid, known.distance, dr.inf)
    found = tree.first(origin, direction, limit, active, together=together)
    rest = [dr.select(found.valid, new, old) for new, old in zip(found[1:], known[1:], strict=True)]
    return Found(known.valid | found.valid, *rest)


def try_picture() -> None:
    """Print "fit" after a picture of a textured plate has been traced."""
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    plate = Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), corners[:, :2], np.tile([0.0, 0, 1], (4, 1)))
    thing = Thing("plate", plate, Surface(texture=np.full((2, 2, 3), 0.5, np.float32), roughness=0.2))
    packed = pack(Scene("trial", (thing,), (PointLight((0, 0, 1), (1, 1, 1), 5),)), (thing,))
    parts = [Part(0, plate.vertices, world_vertices(thing, Pose()), plate.faces)]
    tracer = MitsubaTracer(parts, packed.first_face, [False], [False])
    integrator = Integrator(tracer, packed)
    integrator.set_rotations(np.eye(3)[None])
    direction = np.tile(np.array([0, 0, 1], np.float32), (256, 1))
    rays = Rays(tracer.given(direction), tracer.given(np.full((256, 2), 0.5, np.float32)))
    view = View(
        Pose.from_euler(0, 0, 1, pitch=1.5708).optical_frame().rotation_matrix(), np.array([0.1, 0, 1.0]), 0.01, (0, 0)
    )
    light = integrator.radiance(rays, view, 4)
    thing_seen, _ = integrator.things_and_depth(rays, view)
    print("fit" if np.isfinite(light).all() and light.min() > 0 and (thing_seen == 0).all() else "unfit")
