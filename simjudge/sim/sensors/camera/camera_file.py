"""A camera as a person writes it down: size, field of view, lens, filters, rate and lag, in one YAML file.

    size: [1280, 720]              # pixels
    field_of_view: 80              # degrees between the left and the right edge, distortion included; or focal_length
    lens: {model: radial, k1: -0.369, k2: 0.1257, k3: -0.0194}       # pinhole (the default), fov, or a model of ROS:
                                   # plumb_bob (k1 k2 p1 p2 k3), rational_polynomial (and k4 k5 k6), equidistant
                                   # (k1-k4); or equirectangular, which sees all around
    supersampling: 2               # n x n rays a pixel; 2 by default
    rate: 30                       # images a second
    lag: 0.03                      # seconds from an image's stamp until it is handed over; 0 by default
    exposure_time: 0.01            # seconds, from the stamp on; 0 by default: no motion blur
    exposure_samples: 4            # moments that the exposure is made of; 4 by default, 16 with motion_blur: rays
    motion_blur: rays              # each ray has a time of its own; or moments (the default), which all rays share
    line_time: 2.0e-5              # seconds from a row's exposure to the next row's (rolling shutter); 0 by default
    gain: 1.0                      # linear radiance times this is full scale; 1 by default
    auto_exposure: {mean: 118}     # by the images before (`camera.py`); off by default
    filters:                       # in the order in which light and signal take them; none by default
      - shot_noise: {shot: 6, read: 0.5}
      - bayer: {pattern: GRBG}
      - srgb                       # above: linear light; below: display values. First of all if it is left out
      - gray_world
    depth: {range: [0.3, 10]}      # a depth image too; metres, {} for all; none by default
    chrono: {noise: ...}           # or physical: Chrono's own camera, of engine chrono only (`camera.py`)

In place of size, field_of_view and lens, `calibration: FILE` takes them from a calibration: of ROS, Kalibr, OpenCV or
MATLAB, or of a recording's camera_info; the path is relative to the camera's file. A calibration may be given wherever
a camera is: it then has 30 images a second and no filters.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import model_validator
from pydantic.json_schema import JsonSchemaValue

from simjudge.core.documents import Document, Fields, check_content
from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.field_types import (
    Choice,
    FieldType,
    Number,
    Text,
    Vector,
    Whole,
    conflict,
    is_number,
    need,
    refusal,
    shown,
)
from simjudge.core.images import LARGEST_IMAGE
from simjudge.core.installed import CAMERA, find_file
from simjudge.core.text import JsonMapping, read_yaml
from simjudge.data.rosbag2.storage import is_recording
from simjudge.sim.sensors.camera.calibration import holds_calibration, read_calibration
from simjudge.sim.sensors.camera.camera import AutoExposureFields, Camera, ChronoFields
from simjudge.sim.sensors.camera.chain import (
    AFTER_EXPOSURE,
    ENCODING,
    LINEAR_NOISE,
    SAME_NOISE,
    Seen,
    Step,
    apply_steps,
    needs_distance,
)
from simjudge.sim.sensors.camera.depth_filters import DepthFields
from simjudge.sim.sensors.camera.filters import CAMERA_FILTERS
from simjudge.sim.sensors.camera.lens import Lens, lens_from_calibration, lens_with_field, lens_with_focal_length
from simjudge.sim.sensors.sensor_spec import check_offered

_LENS_FIELDS = ("size", "field_of_view", "focal_length", "lens")
_MOST_RAYS = 16  # Rays along each side of a pixel
_MOST_RAYS_OF_IMAGE = 400_000_000  # Rays of an image: their colours take 5 GB
_MOST_SAMPLES = 256  # Moments of an exposure
_LARGEST_PARAMETER = 1e6  # Of a filter, in whatever unit
_LARGEST_SIDE = 20000  # Pixels
_PLAIN_RATE = 30.0  # Images a second of a camera of which nothing is known but its calibration
_DEFAULT_SAMPLES = {"moments": 4, "rays": 16}  # Moments of an exposure where the file does not say
_TRIAL = np.full((8, 8, 3), 0.5)  # An image on which filters are tried
_FAR = Seen(np.full((8, 8), 10.0), Lens("pinhole", (8, 8), (8.0, 8.0), (3.5, 3.5)).rays())  # What it shows
_SIZE = Vector("width height", ge=1, le=_LARGEST_SIDE, whole=True)


class FilterType(FieldType):
    """A step of the chain: a filter's name, or one `name: {parameter: value, ...}`; read by trying it."""

    @property
    def needed(self) -> str:
        """The phrase."""
        return "a filter's name, or name: {parameter: value, ...},"

    def _read(self, value: Any) -> Any:
        """The step, checked by name, parameters and their types, and by running it on a small image."""
        name, parameters = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else (value, {})
        written = isinstance(name, str) and isinstance(parameters, dict)
        if not written or not all(isinstance(key, str) for key in parameters):
            raise refusal(self.needed)
        try:
            step = Step(name, parameters)
        except UsageError as error:
            raise conflict(str(error)) from error
        _check_types(step)
        try:
            apply_steps(_TRIAL, [step], seen=_FAR)
        except (UsageError, cv2.error, ValueError, OverflowError) as error:
            raise conflict(" ".join(str(error).split())) from error
        return step

    def schema(self) -> JsonSchemaValue:
        """All filters with their parameters."""
        tables = CAMERA_FILTERS.tables()
        names = [name for table in tables for name in table["required"]]
        return {"anyOf": [{"type": "string", "enum": names}, *tables]}


# The coefficients of each lens model, in the order of ROS's D.
_TERMS = {
    "pinhole": (),
    "fov": (),
    "radial": ("k1", "k2", "k3"),
    "equidistant": ("k1", "k2", "k3", "k4"),
    "plumb_bob": ("k1", "k2", "p1", "p2", "k3"),
    "rational_polynomial": ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"),
    "equirectangular": (),
}


class LensFields(Fields):
    """The lens."""

    model: Annotated[
        Literal["pinhole", "radial", "fov", "equidistant", "plumb_bob", "rational_polynomial", "equirectangular"],
        Choice(),
    ]
    """fov: the FOV lens of Chrono::Sensor. radial: plumb_bob without p1 and p2. equirectangular: all around, columns
    and rows are angles; a field_of_view of 360 in an image twice as wide as high is the whole sphere. The others as ROS
    and OpenCV have them; plumb_bob and rational_polynomial take a focal_length or a calibration."""
    k1: Annotated[float, Number()] = 0.0
    """Radial distortion."""
    k2: Annotated[float, Number()] = 0.0
    """Radial distortion."""
    p1: Annotated[float, Number()] = 0.0
    """Tangential distortion."""
    p2: Annotated[float, Number()] = 0.0
    """Tangential distortion."""
    k3: Annotated[float, Number()] = 0.0
    """Radial distortion."""
    k4: Annotated[float, Number()] = 0.0
    """Of equidistant, and of the rational polynomial's denominator."""
    k5: Annotated[float, Number()] = 0.0
    """Of the rational polynomial's denominator."""
    k6: Annotated[float, Number()] = 0.0
    """Of the rational polynomial's denominator."""

    @model_validator(mode="after")
    def _check(self) -> LensFields:
        known = _TERMS[self.model]
        foreign = self.model_fields_set - {"model", *known}
        if foreign:
            there = f"there is {', '.join(('model', *known))}"
            raise conflict(f"no such field of a {self.model} lens; {there}", min(foreign))
        return self

    def coefficients(self) -> tuple[float, ...]:
        """The model's coefficients as `Lens` has them."""
        return tuple(getattr(self, term) for term in _TERMS[self.model]) or (0.0, 0.0, 0.0)


class CameraFile(Fields):
    """A camera."""

    name: Annotated[str, Text()] | None = None
    """The file's own without its suffix, if left out."""
    size: Annotated[tuple[int, int], _SIZE] | None = None
    """Width and height, pixels."""
    field_of_view: Annotated[float, Number()] | None = None
    """Degrees between the left and the right edge of the image, distortion included."""
    focal_length: Annotated[float, Number()] | None = None
    """Pixels; in place of field_of_view."""
    lens: LensFields = LensFields(model="pinhole")
    """A pinhole, if left out."""
    calibration: Annotated[str, Text("the path of a file")] | None = None
    """A calibration (of ROS, Kalibr, OpenCV, MATLAB) or a recording with a camera_info, in place of size, field_of_view
    and lens; relative to this file."""
    calibration_name: Annotated[str, Text()] | None = None
    """Which of several cameras: Kalibr's name of it, or the topic in the recording."""
    calibration_size: Annotated[tuple[int, int], _SIZE] | None = None
    """Width and height, pixels, that the calibration is truly for; its own, said again, are taken as they are."""
    supersampling: Annotated[int, Whole(1, _MOST_RAYS)] = 2
    """N, for N x N rays a pixel."""
    exposure_time: Annotated[float, Number(ge=0)] = 0.0
    """Seconds that light falls on the sensor, from the stamp on; 0: no motion blur."""
    exposure_samples: Annotated[int, Whole(1, _MOST_SAMPLES)] | None = None
    """Moments that the exposure is made of, 4 if left out. With motion_blur rays or a line_time: parts of it in each of
    which moving bodies stand (the camera moves on), 16 if left out."""
    motion_blur: Annotated[Literal["moments", "rays"], Choice()] | None = None
    """Moments: all rays share a few moments, so that fast edges show as ghosts. Rays: each ray has a time of its own,
    so that they show as grain; engine default only. Moments if left out, rays with a line_time."""
    line_time: Annotated[float, Number(ge=0)] = 0.0
    """Seconds from a row's exposure to the next row's, top to bottom (rolling shutter); 0: all rows at once; engine
    default only."""
    gain: Annotated[float, Number(gt=0)] = 1.0
    """Linear radiance times this, 1 is full scale."""
    auto_exposure: AutoExposureFields | None = None
    """Exposure and gain chosen by the images before; off if left out."""
    rate: Annotated[float, Number(gt=0)]
    """Images a second."""
    lag: Annotated[float, Number(ge=0)] = 0.0
    """Seconds from an image's stamp until it is handed over."""
    depth: DepthFields | None = None
    """A depth image beside the colour image, through the same lens; {} for all depths."""
    within_exposure: tuple[Annotated[Step, FilterType()], ...] = ()
    """Filters of the light of each moment of the exposure, in order, before its moments are averaged."""
    before_exposure: tuple[Annotated[Step, FilterType()], ...] = ()
    """Filters of the light of the whole exposure, in order, before gain and automatic exposure meet it; they may ask
    for distances."""
    filters: tuple[Annotated[Step, FilterType()], ...] = ()
    """The chain, in order; steps before `srgb` act on linear light, those after it on display values."""
    chrono: ChronoFields | None = None
    """What is asked of Chrono's own cameras; engine chrono only."""

    @model_validator(mode="before")
    @classmethod
    def _check_offered(cls, content: object) -> object:
        check_offered(content)
        return content

    @model_validator(mode="after")
    def _check(self) -> CameraFile:
        self._check_lens()
        self._check_exposure()
        if self.chrono is not None and self.exposure_time:
            raise conflict("Chrono's own camera takes one instant; remove one of the two", "exposure_time")
        if self.chrono is not None and self.line_time:
            raise conflict("Chrono's own camera takes one instant; remove one of the two", "line_time")
        if self.chrono is not None and self.chrono.physical and "gain" in self.model_fields_set:
            raise conflict("chrono.physical has aperture, exposure and iso in its place; remove it", "gain")
        if self.chrono is not None and self.chrono.physical and self.auto_exposure is not None:
            raise conflict("chrono.physical has aperture, exposure and iso in its place; remove it", "auto_exposure")
        self._check_chain()
        return self

    def _check_chain(self) -> None:
        for field in ("within_exposure", "before_exposure"):
            steps: tuple[Step, ...] = getattr(self, field)
            late = [step.name for step in steps if step.name in AFTER_EXPOSURE]
            if late:
                raise conflict(f"{late[0]} comes after the exposure; put it into filters", field)
        far = [step.name for step in self.within_exposure if needs_distance(step)]
        if far:
            raise conflict(f"{far[0]} needs distances; put it into before_exposure", "within_exposure")
        if self.within_exposure and (self.line_time or self.motion_blur == "rays"):
            raise conflict("rays have times of their own here; put its filters into before_exposure", "within_exposure")
        names = [step.name for step in self.filters]
        noise = [name for name in names if name in SAME_NOISE]
        if len(noise) > 1:
            raise conflict(f"{' and '.join(noise)} are the noise of one sensor twice; keep one", "filters")
        for name in noise:
            if name in LINEAR_NOISE and ENCODING not in names[names.index(name) :]:
                raise conflict(f"{name} is the noise of linear light; put it above {ENCODING}", "filters")
        try:
            apply_steps(_TRIAL, self.filters)
        except UsageError as error:
            raise conflict(str(error), "filters") from error

    def _check_lens(self) -> None:
        if self.calibration is not None:
            both = [field for field in _LENS_FIELDS if field in self.model_fields_set]
            if both:
                raise conflict("comes from the calibration; remove one of the two", both[0])
            return
        if self.calibration_name or self.calibration_size:
            field = "calibration_name" if self.calibration_name else "calibration_size"
            raise conflict("belongs to a calibration; name one or remove it", field)
        if self.size is None:
            raise conflict(f"{need(_SIZE.needed)}; nothing is given", "size")
        pixels = self.size[0] * self.size[1]
        if pixels > LARGEST_IMAGE:
            raise conflict(f"{LARGEST_IMAGE / 1e6:.0f} million pixels at most; this is {pixels / 1e6:.0f}", "size")
        if pixels * self.supersampling**2 > _MOST_RAYS_OF_IMAGE:
            message = f"{pixels * self.supersampling**2 / 1e6:.0f} million rays an image; take fewer, or a smaller size"
            raise conflict(message, "supersampling")
        self.only("field_of_view", "focal_length", subject="a camera")

    def _check_exposure(self) -> None:
        if self.exposure_time > 1 / self.rate:
            message = f"0 to {1 / self.rate:.4g} seconds (1 / rate) are needed{shown(self.exposure_time)}"
            raise conflict(message, "exposure_time")
        if self.line_time and self.motion_blur == "moments":
            raise conflict("rows of a rolling shutter share no moments; remove one of the two", "line_time")
        if self.exposure_time == 0 and self.motion_blur is not None:
            raise conflict("needs an exposure_time above 0; give one or remove it", "motion_blur")
        if self.exposure_time == self.line_time == 0 and self.exposure_samples is not None:
            raise conflict("needs an exposure_time above 0; give one or remove it", "exposure_samples")

    def shutter(self) -> tuple[str, int]:
        """Kind of motion blur, and moments of the exposure."""
        kind = self.motion_blur or ("rays" if self.line_time else "moments")
        if not self.exposure_time and not self.line_time:
            return kind, 1
        return kind, self.exposure_samples or _DEFAULT_SAMPLES[kind]


def read_camera(given: str | Path, folder: str | Path = "") -> Camera:
    """Read a camera's file or calibration, or the one of a name that comes with simjudge (folder: see `find_file`)."""
    path = Path(folder, given)
    path = path if is_recording(path) else find_file(given, CAMERA, folder)
    if holds_calibration(path):
        return _plain_camera(path)
    content = read_yaml(path)
    if isinstance(content.content, dict) and "cameras" in content.content:
        raise UsageError(f"{path}: holds several cameras; one is needed here, so give the file or name of one of them")
    return _camera(check_content(content.content, CameraFile, "camera", path, (content,)), path)


def camera_from_fields(fields: JsonMapping, name: str) -> Camera:
    """A camera of the fields that a file would have, given by a program."""
    path = Path(name)
    content = {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}
    return _camera(check_content(content, CameraFile, "camera", path, ()), path)


def _camera(document: Document[CameraFile], path: Path) -> Camera:
    file, lens = document.content, _lens(document)
    motion_blur, samples = file.shutter()
    camera = Camera(
        name=file.name or path.stem,
        path=path,
        lens=lens,
        steps=file.filters,
        within_exposure=file.within_exposure,
        before_exposure=file.before_exposure,
        rate=file.rate,
        lag=file.lag,
        supersampling=file.supersampling,
        exposure_time=file.exposure_time,
        exposure_samples=samples,
        motion_blur=motion_blur,
        line_time=file.line_time,
        gain=file.gain,
        auto_exposure=file.auto_exposure.controller() if file.auto_exposure else None,
        chrono=file.chrono.settings() if file.chrono else None,
        depth=file.depth.settings() if file.depth is not None else None,
    )
    if camera.line_time and camera.open_time > 1 / camera.rate:
        raise document.error(
            ("line_time",),
            f"the last of {lens.size[1]} rows is exposed {camera.open_time:.4g} seconds after the stamp, when the next"
            f" image has begun; {(1 / camera.rate - camera.exposure_time) / (lens.size[1] - 1):.4g} at most is needed",
        )
    return camera


def _lens(document: Document[CameraFile]) -> Lens:
    """The lens from its own fields, or from a calibration."""
    file = document.content
    if file.calibration is not None or file.size is None:
        return _calibrated_lens(document, document.path.parent / str(file.calibration))
    coefficients = file.lens.coefficients()
    try:
        if file.focal_length is not None:
            return lens_with_focal_length(file.lens.model, file.size, file.focal_length, coefficients)
        return lens_with_field(file.lens.model, file.size, file.field_of_view or 0.0, coefficients)
    except UsageError as error:
        field = "field_of_view" if file.focal_length is None else "focal_length"
        raise document.error((field,), str(error)) from error


def _calibrated_lens(document: Document[CameraFile], path: Path) -> Lens:
    file = document.content
    try:
        calibration = read_calibration(path, file.calibration_name)
    except UsageError as error:
        raise document.error(("calibration",), str(error)) from error
    # The calibration's own size, said again, is meant: a camera that reads out a part of its sensor has no middle.
    confirmed = file.calibration_size == calibration.size
    if file.calibration_size is not None:
        calibration = replace(calibration, size=file.calibration_size)
    doubt = calibration.doubt()
    if doubt and doubt.wrong and not confirmed:
        raise document.error(
            ("calibration",),
            f"{doubt.message}; calibration_size: [width, height] says the true one, or that this one is meant, as where"
            " a part of the sensor is read out",
        )
    try:
        return lens_from_calibration(calibration)
    except UsageError as error:
        raise document.error(("calibration",), str(error)) from error


def _plain_camera(path: Path) -> Camera:
    """The camera of a calibration that was given in place of a camera's file."""
    calibration = read_calibration(path)
    doubt = calibration.doubt()
    if doubt and doubt.wrong:
        raise SimjudgeError(
            f"{path}: {doubt.message}; write a camera's file with calibration: {path.name}, the true"
            " calibration_size: [width, height] (the same again where a part of the sensor is read out), and rate: 30"
        )
    return Camera(calibration.name, path, lens_from_calibration(calibration), steps=(), rate=_PLAIN_RATE, lag=0.0)


def _check_types(step: Step) -> None:
    """Refuse parameters that are text where a number is needed, or the other way round."""
    for name, kind in CAMERA_FILTERS.parameter_types(step.name).items():
        value = step.parameters.get(name)
        if value is None:
            continue
        if kind == "number" and not is_number(value, _LARGEST_PARAMETER):
            needed = "a number is needed" if not is_number(value) else f"{_LARGEST_PARAMETER:g} at most is needed"
            raise conflict(needed + shown(value, numeric=True), step.name, name)
        if kind == "string" and not isinstance(value, str):
            raise conflict(f"a text is needed{shown(value)}", step.name, name)
