"""Which Chrono it is, by what its modules have: signatures as SWIG wrote them for 9.0.1, 10.0.0 and 7689fbc0."""

from types import SimpleNamespace

import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.chrono.modules import (
    ARTCAR_WHEELBASE,
    FACTORS,
    UNKNOWN,
    camera_arguments,
    identify_release,
    package_version,
)

CORE = SimpleNamespace(ChVector3d=object)
OLD = "__init__(self, parent, updateRate, offsetPose, w, h, hFOV, supersample_factor=1, lens_model, use_gi=False, gamma=2.2, use_fog=True)"  # noqa: E501
NEW = "__init__(self, parent, updateRate, offsetPose, w, h, hFOV, supersample_factor=1, lens_model, use_diffuse_reflect=False, use_denoiser=False, integrator, gamma=2.2, use_fog=False)"  # noqa: E501


def camera(signature):
    def init(self):
        del self

    init.__doc__ = signature
    return type("ChCameraSensor", (), {"__init__": init})


def manager(*names):
    return type("ChSensorManager", (), dict.fromkeys(names))


SENSORS = {
    "9.0.1": SimpleNamespace(ChCameraSensor=camera(OLD), ChSensorManager=manager(), ChSensor=type("ChSensor", (), {})),
    "10.0.0": SimpleNamespace(
        ChCameraSensor=camera(NEW), ChSensorManager=manager(), ChPhysCameraSensor=1, Integrator_LEGACY=5
    ),
    "7689fbc0": SimpleNamespace(
        ChCameraSensor=camera(NEW), ChSensorManager=manager("SetRandomSeed"), ChPhysCameraSensor=1, Integrator_LEGACY=5
    ),
}
AGES = {"9.0.1": "9", "10.0.0": "10", "7689fbc0": "head"}


@pytest.mark.parametrize("name", SENSORS)
def test_the_age_is_found(name):
    release = identify_release(CORE, SENSORS[name], SimpleNamespace(ARTcar=1), UNKNOWN)
    assert release.age == AGES[name]
    assert release.cameras
    assert release.vehicles
    assert release.phys_camera == (name != "9.0.1")
    assert release.random_seed == (name == "7689fbc0")
    assert not release.semantic_buffer
    assert any("ChFilterSave" in line for line in release.defects())
    assert all("\n" not in line for line in release.defects())


@pytest.mark.parametrize(
    ("sensor", "vehicle", "version", "age"),
    [
        (SimpleNamespace(), SimpleNamespace(SetVehicleDataPath=1), UNKNOWN, "10"),
        (SimpleNamespace(), SimpleNamespace(SetDataPath=1), "9.0.1", "9"),
        (SimpleNamespace(), SimpleNamespace(), "10.0.0", "10"),
        (None, None, UNKNOWN, "9"),
    ],
)
def test_without_signatures_names_and_version_decide(sensor, vehicle, version, age):
    release = identify_release(CORE, sensor, vehicle, version)
    assert release.age == age
    assert not release.cameras


def test_a_wrapped_semantic_buffer_is_seen():
    sensor = SimpleNamespace(ChSensor=type("ChSensor", (), {"GetMostRecentSemanticBuffer": None}))
    assert identify_release(CORE, sensor, None, UNKNOWN).semantic_buffer


def test_older_chronos_are_refused():
    with pytest.raises(SimjudgeError, match=r"9\.0 or newer"):
        identify_release(SimpleNamespace(ChVectorD=1), None, None, "8.0.0")


@pytest.mark.parametrize("name", SENSORS)
def test_arguments_stand_where_the_signature_has_them(name):
    release = identify_release(CORE, SENSORS[name], None, UNKNOWN)
    given = {
        key: key for key in ("parent", "rate", "pose", "w", "h", "hFOV", "supersample", "lens", "gamma", "integrator")
    }
    arguments = camera_arguments(release, given)
    words = {"9.0.1": OLD}.get(name, NEW).removeprefix("__init__(self, ").rstrip(")").split(", ")
    places = [word.split("=")[0] for word in words]
    assert len(arguments) == len(places)
    assert arguments[places.index("gamma")] == "gamma"
    for name_off in ("use_gi", "use_diffuse_reflect", "use_denoiser", "use_fog"):
        if name_off in places:
            assert arguments[places.index(name_off)] is False
    if "integrator" in places:
        assert arguments[places.index("integrator")] == "integrator"


def test_the_field_of_view_table():
    assert set(FACTORS["9"].values()) == {"linear"}
    assert FACTORS["10"] == FACTORS["head"] == {"camera": "tangent", "segmentation": "linear", "depth": "linear"}


def test_artcar_is_as_long_as_its_hardpoints():
    assert pytest.approx(0.465, abs=1e-3) == ARTCAR_WHEELBASE


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({}, UNKNOWN),
        ({"pychrono-10.0.0-py312.json": '{"version": "10.0.0"}'}, "10.0.0"),
        ({"pychrono-9.json": "{broken", "pychrono-9.1.json": '{"version": "9.0.1"}'}, "9.0.1"),
        ({"pychrono-x.json": "[]"}, UNKNOWN),
    ],
)
def test_the_version_is_condas_record(tmp_path, files, version):
    (tmp_path / "conda-meta").mkdir()
    for name, text in files.items():
        (tmp_path / "conda-meta" / name).write_text(text)
    assert package_version(tmp_path) == version
