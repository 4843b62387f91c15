"""Public data that tests and docs/measurements use: where each set comes from, its licence, its digest.

`scripts/fetch_data.py` lists the sets. `scripts/fetch_data.py NAME... --into ../shared/data` downloads what has a
direct address and checks it; for the rest it prints the page where a person gets it. `--check` compares what lies there
with the digests. None of the data is part of simjudge. Tests that need a set are skipped, by name, where it is absent.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

_EVO = "https://raw.githubusercontent.com/MichaelGrupp/evo/a80aa1a1d0080777768b3b7f4228272773630d79"


@dataclass(frozen=True)
class DataSet:
    """Files in one folder, below the folder of all data.

    Attributes:
        what: what it is, with the number of files.
        page: where a person reads about it and gets it.
        digest: of all files, as `folder_digest` has it; of read-me files and licences none.
        files: direct addresses by name, where there are any.
    """

    what: str
    page: str
    licence: str
    digest: str
    files: dict[str, str] = field(default_factory=dict)


DATA = {
    "real_signals": DataSet(
        "1,470 photographs of small traffic lights and signs from a scale car: version 9, as YOLOv8",
        "https://universe.roboflow.com/traffic-light-2grkt/traffic-signal-blyl9",
        "CC BY 4.0",
        "3e80c73f74c409a8eee4f60b130e292b31ef26b662bb6bd81662e8fd0c968bc2",
    ),
    "real_rc_cones": DataSet(
        "157 photographs of cones on a hallway floor, version 3, exported as YOLOv8",
        "https://universe.roboflow.com/cone-detection-maygw/cone_detection-klgik",
        "CC BY 4.0",
        "deb1e4c069b4739a30e2e140a4d84c8018da5059479f31157dfb6935053d9499",
    ),
    "real_formula_drive": DataSet(
        "the drives estoril_autox2 (with ten pictures) and alverca_april2 of FSKITTI",
        "https://github.com/elpatoo/FSKITTI",
        "GPL-3.0",
        "9b542074d6a784a231f8945327cf5976b19abfcad2dd85c774ea49d12c1e1635",
    ),
    "real_bags": DataSet(
        "a TurtleBot's recording, from the tests of evo",
        "https://github.com/MichaelGrupp/evo",
        "GPL-3.0",
        "73290b9b2eaf729b49c153c4a1f32ebb4c87f97aa6b012749d64eafb7c6ddb5b",
        {"nav2_turtlebot.mcap": f"{_EVO}/test/data/nav2_turtlebot.mcap"},
    ),
    "art1": DataSet(
        "figures of the car ART-1: cones by motion capture, camera calibration, licence",
        "https://github.com/uwsbel/autonomy-research-testbed",
        "MIT",
        "a2dfe289168fad4bc3863b5f9a69ec7657052ac5e153ba80cc0dc47c35e4412e",
    ),
    "real_lidar/kitti_tracking_0000": DataSet(
        "30 scans (124 to 153) of KITTI tracking sequence 0000 with labels, calibration and poses",
        "https://www.cvlibs.net/datasets/kitti/eval_tracking.php",
        "CC BY-NC-SA 3.0",
        "6052b2334c860d824d0bd03192ec4014e98cf0bda4f8839ae3eb4e765d3c0e19",
    ),
    "real_lidar/argoverse2_sweep": DataSet(
        "one sweep with annotations, poses and mounts, from the test data of av2-api",
        "https://github.com/argoverse/av2-api",
        "CC BY-NC-SA 4.0",
        "c798dfbd9c0b583887aa6e8eb7f84749cc94c4a9c158ab9a4f48251f972fb7bd",
    ),
    "robot_policies": DataSet(
        "success of robot policies, real and simulated, from seven publications",
        "https://datadryad.org (large behavior models), and the tables of T. Lam's audit",
        "CC0 and MIT",
        "6f92e6ed2ee30b8c2d8fde408e58f3f72200ced8d8135d25d9b289ecb9864535",
    ),
}


def folder_digest(folder: Path) -> str:
    """SHA-256 of the lines `SHA-256  NAME` of all files but read-me files and licences, in the order of their names."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not path.name.startswith(("README", "LICENSE")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{digest}  {path.relative_to(folder).as_posix()}\n".encode())
    return whole.hexdigest()


def state(name: str, folder: Path) -> str:
    """Whether a set lies below a folder: "absent", "as published", or "not the same files"."""
    if not (folder / name).is_dir():
        return "absent"
    return "as published" if folder_digest(folder / name) == DATA[name].digest else "not the same files"


def fetch(name: str, folder: Path) -> str:
    """Download what has a direct address; the rest is told."""
    data = DATA[name]
    if not data.files:
        return f"{name}: no direct address. Get it from {data.page} ({data.licence}) and put it into {folder / name}"
    for file, address in data.files.items():
        with urlopen(address, timeout=60) as answer:  # noqa: S310 - addresses of this file
            content = answer.read()
        (folder / name).mkdir(parents=True, exist_ok=True)
        partial = folder / name / f".{file}.part"
        partial.write_bytes(content)
        partial.replace(folder / name / file)
    return f"{name}: {state(name, folder)}"


def main() -> int:
    """List, check or fetch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *DATA], metavar="NAME", help="sets to fetch")
    parser.add_argument("--into", type=Path, default=Path("../shared/data"), help="folder of all data (../shared/data)")
    parser.add_argument("--check", action="store_true", help="compare what lies there with the digests")
    options = parser.parse_args()
    if options.check:
        states = {name: state(name, options.into) for name in DATA}
        print("\n".join(f"{name}: {found}" for name, found in states.items()))
        return int("not the same files" in states.values())
    if options.names:
        print("\n".join(fetch(name, options.into) for name in options.names))
        return 0
    for name, data in DATA.items():
        print(f"{name}: {data.what}\n    {data.licence}, {data.page}\n    sha256 {data.digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
