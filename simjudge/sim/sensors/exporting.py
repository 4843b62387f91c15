"""Cameras and sensors as other simulators read them: what `fit` and `calibrate` found goes home.

Each writer says in plain words what its target cannot express. Pixel coordinates here are OpenCV's, in which (0, 0) is
the centre of the first pixel; Gazebo and Omniverse count from the picture's corner, half a pixel further.

Sources:
    SDFormat 1.9 (camera, lidar, imu, noise); "Lens Distortion Schemas" of NVIDIA Omniverse; MuJoCo's XML reference
    (camera); camera_calibration_parsers of ROS (camera_info.yaml).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

import yaml
from scipy.spatial.transform import Rotation

from simjudge.core.arrays import FloatArray
from simjudge.core.errors import UsageError
from simjudge.core.files import atomic_file, check_output
from simjudge.sim.sensors.camera.calibration import Calibration
from simjudge.sim.sensors.camera.camera import Camera
from simjudge.sim.sensors.camera.camera_file import read_camera
from simjudge.sim.sensors.inertial.sensor_tables import ImuSpec, NoiseModel
from simjudge.sim.sensors.lidar.lidar import LidarSpec
from simjudge.sim.sensors.sensor_file import read_sensors
from simjudge.sim.sensors.sensor_spec import SensorSpec

Target = Literal["ros", "sdf", "usd", "mujoco"]
_ENDLESS = 1e6
"""Seconds of correlation time that stand for a walk without end in SDF."""
_APERTURE = 36.0
"""Width of USD's film in tenths of a scene unit; focal lengths are in the same unit, so only their ratio counts."""


@dataclass(frozen=True)
class ExportedSensors:
    """A camera or sensors as another program reads them.

    Attributes:
        text: the file.
        left_out: what the target cannot express, one sentence each.
    """

    text: str
    left_out: tuple[str, ...]

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file.

        Args:
            path: where; its folder exists.
            overwrite: replace a file that is there.

        Raises:
            UsageError: a file is there, or cannot be written.
        """
        check_output(Path(path), lambda _: False, overwrite=overwrite)
        with atomic_file(path) as temporary:
            temporary.write_text(self.text, encoding="utf-8")


def export_camera(camera: str | Path, target: Target) -> ExportedSensors:
    """Write a camera as another simulator reads it.

    Args:
        camera: a camera's file, a calibration, or the name of a camera that comes with simjudge.
        target: "ros" (camera_info.yaml), "sdf" (Gazebo), "usd" (OpenCV lens schema of Omniverse and Isaac Sim) or
            "mujoco" (an element of MJCF).

    Returns:
        The file's text, and what of the camera the target cannot express.

    Raises:
        UsageError: the lens sees all around, which no target has.
    """
    return _CAMERAS[target](read_camera(camera))


def export_sensors(sensors: str | Path) -> ExportedSensors:
    """Write the lidars and IMUs of a file of sensors as Gazebo reads them (SDF).

    Args:
        sensors: a file of sensors, or the name of one that comes with simjudge.

    Returns:
        The file's text, and what of the sensors SDF cannot express.

    Raises:
        UsageError: there is neither a lidar nor an IMU.
    """
    elements: list[ET.Element] = []
    left_out: list[str] = []
    for spec in read_sensors(sensors):
        if isinstance(spec, LidarSpec):
            elements.append(_sdf_lidar(spec, left_out))
        elif isinstance(spec, ImuSpec):
            elements.append(_sdf_imu(spec))
        else:
            left_out.append(f"{spec.name}: lidars and IMUs are written, not {spec.kind}")
            continue
        if spec.filters:
            left_out.append(f"{spec.name}: filters: {', '.join(step.name for step in spec.filters)}")
        if spec.place:
            left_out.append(f"{spec.name}: its place, {spec.place}, which a car's file says; add a pose")
    if not elements:
        raise UsageError(f"{sensors}: holds neither a lidar nor an IMU: {'; '.join(left_out)}")
    return _sdf_file(elements, left_out)


def _ros_camera(camera: Camera) -> ExportedSensors:
    calibration, left_out = _calibrated(camera)
    matrices = (
        ("camera_matrix", calibration.matrix),
        ("distortion_coefficients", calibration.distortion[None]),
        ("rectification_matrix", calibration.rectification),
        ("projection_matrix", calibration.projection),
    )
    content = {
        "image_width": camera.lens.size[0],
        "image_height": camera.lens.size[1],
        "camera_name": camera.name,
        "distortion_model": calibration.model,
    } | {
        name: {"rows": rows.shape[0], "cols": rows.shape[1], "data": [float(value) for value in rows.ravel()]}
        for name, rows in matrices
    }
    return ExportedSensors(
        yaml.safe_dump(content, sort_keys=False), (*left_out, *_unsaid_filters(camera, ()), *_unsaid_times(camera))
    )


def _sdf_camera(camera: Camera) -> ExportedSensors:
    calibration, left_out = _calibrated(camera)
    fx, fy, cx, cy = _focal_and_centre(calibration)
    width, height = camera.lens.size
    sensor = ET.Element("sensor", name=camera.name, type="camera")
    _add(sensor, "update_rate", camera.rate)
    element = _add(sensor, "camera")
    _add(element, "horizontal_fov", 2 * math.atan(width / 2 / fx))
    image = _add(element, "image")
    for name, value in (("width", width), ("height", height), ("format", "R8G8B8")):
        _add(image, name, value)
    clip = _add(element, "clip")
    _add(clip, "near", 0.05)
    _add(clip, "far", 1000)
    if calibration.model == "plumb_bob" and any(calibration.distortion):
        distortion = _add(element, "distortion")
        k1, k2, p1, p2, *rest = (float(value) for value in calibration.distortion)
        for name, number in (("k1", k1), ("k2", k2), ("k3", rest[0] if rest else 0.0), ("p1", p1), ("p2", p2)):
            _add(distortion, name, number)
        _add(distortion, "center", f"{(cx + 0.5) / width:.9g} {(cy + 0.5) / height:.9g}")
    elif any(calibration.distortion):
        left_out = (*left_out, f"the lens: Gazebo has plumb_bob, not {calibration.model}; a pinhole is written")
    noise = _display_noise(camera)
    if noise:
        _add_noise(element, deviation=noise)
    intrinsics = _add(_add(element, "lens"), "intrinsics")
    for name, number in (("fx", fx), ("fy", fy), ("cx", cx + 0.5), ("cy", cy + 0.5), ("s", 0.0)):
        _add(intrinsics, name, number)
    said = ("gaussian_noise", "shot_noise") if noise else ()
    shot = () if not noise or not _shot(camera) else ("shot noise, which grows with light: its even part is written",)
    return _sdf_file([sensor], [*left_out, *_unsaid_filters(camera, said), *shot, *_unsaid_times(camera)])


def _usd_camera(camera: Camera) -> ExportedSensors:
    calibration, left_out = _calibrated(camera)
    fisheye = calibration.model == "equidistant"
    api, prefix = ("OpenCvFisheye", "opencvFisheye") if fisheye else ("OpenCvPinhole", "opencvPinhole")
    fx, fy, cx, cy = _focal_and_centre(calibration)
    width, height = camera.lens.size
    names = (
        ("k1", "k2", "k3", "k4")
        if fisheye
        else ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4")
    )
    lens = {"cx": cx + 0.5, "cy": cy + 0.5, "fx": fx, "fy": fy}
    lens |= dict.fromkeys(names, 0.0) | dict(zip(names, map(float, calibration.distortion), strict=False))
    if len(calibration.distortion) > len(names) and any(calibration.distortion[len(names) :]):
        left_out = (*left_out, "the lens's tilt: the schema has no terms for it")
    name = re.sub(r"\W", "_", camera.name)
    lines = [
        "#usda 1.0",
        f'def Camera "{name}" (',
        f'    prepend apiSchemas = ["OmniLensDistortion{api}API"]',
        ")",
        "{",
        f"    float focalLength = {fx * _APERTURE / width:.9g}",
        f"    float horizontalAperture = {_APERTURE:.9g}",
        f"    float verticalAperture = {_APERTURE * height / width * fx / fy:.9g}",
        f'    token omni:lensdistortion:model = "{prefix}"',
        f"    int2 omni:lensdistortion:{prefix}:imageSize = ({width}, {height})",
        *(f"    float omni:lensdistortion:{prefix}:{name} = {value:.9g}" for name, value in lens.items()),
        "}",
    ]
    left = (*left_out, *_unsaid_filters(camera, ()), *_unsaid_times(camera))
    return ExportedSensors("\n".join(lines) + "\n", left)


def _mujoco_camera(camera: Camera) -> ExportedSensors:
    calibration, left_out = _calibrated(camera)
    fx, fy, cx, cy = _focal_and_centre(calibration)
    width, height = camera.lens.size
    if any(calibration.distortion):
        left_out = (*left_out, "the lens's distortion: MuJoCo has a pinhole; bend them by simjudge data filter --lens")
    element = ET.Element(
        "camera",
        name=camera.name,
        resolution=f"{width} {height}",
        sensorsize=f"{width * 1e-6:.9g} {height * 1e-6:.9g}",
        focalpixel=f"{fx:.9g} {fy:.9g}",
        # The picture's middle as seen from the principal point, x to the right, y down: tried on its frustum
        principalpixel=f"{width / 2 - cx - 0.5:.9g} {height / 2 - cy - 0.5:.9g}",
    )
    left = (*left_out, *_unsaid_filters(camera, ()), *_unsaid_times(camera))
    return ExportedSensors(ET.tostring(element, encoding="unicode") + "\n", left)


_CAMERAS: dict[str, Callable[[Camera], ExportedSensors]] = {
    "ros": _ros_camera,
    "sdf": _sdf_camera,
    "usd": _usd_camera,
    "mujoco": _mujoco_camera,
}


def _calibrated(camera: Camera) -> tuple[Calibration, tuple[str, ...]]:
    if camera.lens.omnidirectional:
        raise UsageError(f"{camera.name}: an equirectangular lens cannot be written for other simulators")
    found = camera.lens.camera_info(camera.name)
    near = (f"the lens {camera.lens.model}: the nearest {found.calibration.model} misses it by {found.error:.2g} px",)
    return found.calibration, near if found.error else ()


def _focal_and_centre(calibration: Calibration) -> tuple[float, float, float, float]:
    matrix: FloatArray = calibration.matrix
    return float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2])


def _display_noise(camera: Camera) -> float:
    """Standard deviation of the even noise at the end of the chain, full scale 1; 0 where there is none or light's."""
    names = [step.name for step in camera.steps]
    after = camera.steps[names.index("srgb") + 1 :] if "srgb" in names else camera.steps
    levels = [
        float(step.parameters.get("sigma" if step.name == "gaussian_noise" else "read", 0.0))
        for step in after
        if step.name in {"gaussian_noise", "shot_noise"}
    ]
    return math.hypot(*levels) / 255


def _shot(camera: Camera) -> bool:
    return any(step.name == "shot_noise" and step.parameters.get("shot") for step in camera.steps)


def _unsaid_filters(camera: Camera, said: Iterable[str]) -> list[str]:
    names = [step.name for step in camera.steps if step.name not in {*said, "srgb"}]
    return [f"filters: {', '.join(names)}; apply them to pictures by simjudge data filter --camera"] if names else []


def _unsaid_times(camera: Camera) -> list[str]:
    parts = {
        "motion blur": camera.exposure_time,
        "the rolling shutter": camera.line_time,
        "the lag": camera.lag,
        "automatic exposure": camera.auto_exposure,
        "the gain": camera.gain != 1,
        "the depth image": camera.depth,
    }
    left = [name for name, given in parts.items() if given]
    return [", ".join(left)] if left else []


def _sdf_lidar(spec: LidarSpec, left_out: list[str]) -> ET.Element:
    lidar = spec.model()
    sensor = ET.Element("sensor", name=spec.name, type="gpu_lidar")
    _add_pose(sensor, spec)
    _add(sensor, "update_rate", lidar.rate)
    element = _add(sensor, "lidar")
    scan = _add(element, "scan")
    half = lidar.field_of_view / 2
    step = lidar.field_of_view / lidar.columns
    for name, count, lowest, highest in (
        # Of a full turn the last column is one step before the first
        ("horizontal", lidar.columns, -half, half - (step if lidar.full_turn else 0.0)),
        ("vertical", len(lidar.elevation), lidar.elevation[0], lidar.elevation[-1]),
    ):
        part = _add(scan, name)
        for tag, value in (("samples", count), ("resolution", 1), ("min_angle", lowest), ("max_angle", highest)):
            _add(part, tag, value)
    distances = _add(element, "range")
    _add(distances, "min", lidar.range[0])
    _add(distances, "max", lidar.range[1])
    if lidar.noise.range[0]:
        _add_noise(element, deviation=lidar.noise.range[0])
    even = (lidar.elevation[-1] - lidar.elevation[0]) / max(len(lidar.elevation) - 1, 1)
    uneven = max(abs(angle - lidar.elevation[0] - k * even) for k, angle in enumerate(lidar.elevation))
    unsaid = {
        f"rings at uneven angles (written evenly, {math.degrees(uneven):.2g} degrees off at most)": uneven > 1e-4,
        "the time that a turn takes": lidar.window,
        "delays and azimuths of rings": any(lidar.ring_delay) or any(lidar.ring_azimuth),
        "the uneven turn of the head": any(lidar.head_deviation),
        "the width of beams and several returns": any(lidar.divergence),
        "noise that grows with range": lidar.noise.range[1],
        "noise of angles": lidar.noise.azimuth or lidar.noise.elevation,
        "intensity": True,
        "lost returns": lidar.noise.drop_out or lidar.threshold,
    }
    left_out.append(f"{spec.name}: " + ", ".join(name for name, given in unsaid.items() if given))
    return sensor


def _sdf_imu(spec: ImuSpec) -> ET.Element:
    sensor = ET.Element("sensor", name=spec.name, type="imu")
    _add_pose(sensor, spec)
    _add(sensor, "update_rate", spec.rate)
    imu = _add(sensor, "imu")
    for name, noise in (("angular_velocity", spec.gyroscope), ("linear_acceleration", spec.accelerometer)):
        part = _add(imu, name)
        for number, axis in enumerate("xyz"):
            _add_axis(_add(part, axis), noise, number)
    return sensor


def _add_axis(parent: ET.Element, noise: NoiseModel, axis: int) -> None:
    # Gazebo's bias gains dynamic_bias_stddev sqrt(dt) at a step far below its correlation time: a random walk's K
    walk = float(noise.random_walk()[axis])
    more = {"dynamic_bias_stddev": walk, "dynamic_bias_correlation_time": _ENDLESS} if walk else {}
    _add_noise(parent, mean=noise.mean[axis], deviation=noise.deviation[axis], **more)


def _add_noise(parent: ET.Element, *, deviation: float, mean: float = 0.0, **more: float) -> None:
    noise = _add(parent, "noise")
    noise.set("type", "gaussian") if parent.tag in "xyz" else _add(noise, "type", "gaussian")
    for name, value in {"mean": mean, "stddev": deviation, **more}.items():
        _add(noise, name, value)


def _add_pose(sensor: ET.Element, spec: SensorSpec) -> None:
    if not spec.place:
        yaw, pitch, roll = Rotation.from_quat(spec.mount.orientation).as_euler("ZYX")
        _add(sensor, "pose", " ".join(f"{value:.9g}" for value in (*spec.mount.position, roll, pitch, yaw)))


def _add(parent: ET.Element, name: str, value: float | str | None = None) -> ET.Element:
    element = ET.SubElement(parent, name)
    if value is not None:
        element.text = value if isinstance(value, str) else f"{value:.9g}"
    return element


def _sdf_file(sensors: Sequence[ET.Element], left_out: Sequence[str]) -> ExportedSensors:
    """A model with one link that carries the sensors, to be included or copied from."""
    root = ET.Element("sdf", version="1.9")
    link = _add(ET.SubElement(root, "model", name="sensors"), "link")
    link.set("name", "link")
    link.extend(sensors)
    ET.indent(root)
    return ExportedSensors('<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n", tuple(left_out))
