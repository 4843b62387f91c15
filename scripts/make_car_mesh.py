"""Makes config/scenes/meshes/art1_{body,wheel}.obj and art1.png: how other cars of a scene look, from ART-1's figures.

    python scripts/make_car_mesh.py

The shapes are those of the car that drives (`simjudge.sim.vehicle.vehicle`); colours are one row of texels.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from simjudge.sim.scene.model import Mesh
from simjudge.sim.scene.scene_fields import to_srgb
from simjudge.sim.vehicle.vehicle import car_things, read_vehicle

MESHES = Path(__file__).resolve().parent.parent / "config" / "scenes" / "meshes"

SMALLEST = 1e-9
"""Square metres: smaller triangles, at the tips of fans, are left out."""


def write(name: str, mesh: Mesh) -> None:
    """Write a mesh with its texture coordinates and normals, each row of numbers once."""
    lines = [f"# {name}; made by scripts/make_car_mesh.py. Metres, x ahead, y left, z up."]
    index = []
    for key, rows, digits in (("v", mesh.vertices, 5), ("vt", mesh.uv, 4), ("vn", mesh.normals, 3)):
        unique, of_vertex = np.unique(rows.round(digits) + 0.0, axis=0, return_inverse=True)
        lines += [f"{key} " + " ".join(f"{number:.{digits}f}" for number in row) for row in unique.tolist()]
        index.append(of_vertex.ravel() + 1)
    a, b, c = (mesh.vertices[mesh.faces[:, k]].round(5) for k in range(3))
    whole = np.linalg.norm(np.cross(b - a, c - a), axis=1) > SMALLEST
    corners = np.stack(index, 1)[mesh.faces[whole]].tolist()
    lines += ["f " + " ".join("/".join(map(str, corner)) for corner in face) for face in corners]
    (MESHES / f"{name}.obj").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}.obj: {len(corners)} triangles")


def main() -> None:
    """Write the files."""
    body, wheel, *_ = car_things(read_vehicle("art1"))
    write("art1_body", body.mesh)
    write("art1_wheel", wheel.mesh)
    assert body.surface.texture is not None  # noqa: S101 - the palette
    palette = np.rint(to_srgb(body.surface.texture) * 255).astype(np.uint8)
    cv2.imwrite(str(MESHES / "art1.png"), palette[:, :, ::-1])


if __name__ == "__main__":
    main()
