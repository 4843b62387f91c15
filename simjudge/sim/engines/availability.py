"""Which engines can run on this machine, and what each can do, without starting one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from simjudge.core.errors import SimjudgeError
from simjudge.sim.engines.registry import OWN_ENGINES, describe_entry, engine_class, registered_engines

_DEFAULT_ABILITIES = (
    "can: any vehicle file, all lenses, linear radiance as floats, shadows and reflections, class, instance and depth"
)
_CHRONO_ABILITIES = (
    "can: all lenses (directly or looked up), radiance from 8-bit pictures in brackets (16-bit ones where Vulkan's are"
    " right), class, instance and depth; Chrono's own noise and physical camera"
)
_CHRONO_UNSEEN = "can: physics, and labels of single rays: drives by ground truth without images; no pictures"
_CHRONO_CAR = "can: Chrono::Vehicle's ARTcar, and wheeled vehicles of Chrono's JSON files, on level and on mesh ground"
_CHRONO_WITHOUT_CAR = "missing: pychrono.vehicle with the ARTcar (CH_ENABLE_MODULE_VEHICLE); scenes without a car only"


@dataclass(frozen=True)
class EngineAvailability:
    """Whether an engine can run on this machine.

    Attributes:
        name: name of the engine, as `make_engine` takes it.
        runs: whether the engine can run here.
        lines: versions, backends and abilities, or what is missing and how to get it.
    """

    name: str
    runs: bool
    lines: tuple[str, ...]


def engine_availability() -> tuple[EngineAvailability, ...]:
    """The availability of all engines: our own, then those that other packages register."""
    others = (entries for name, entries in registered_engines().items() if name not in OWN_ENGINES)
    plugins = (_plugin(entry) for entries in others for entry in entries)
    default = _default()
    return (default, _baked(runs=default.runs), _chrono(), *plugins)


def _plugin(entry: EntryPoint) -> EngineAvailability:
    package = f"registered by {describe_entry(entry)}"
    try:
        engine_class(entry.name)
    except SimjudgeError as error:
        reason = str(error).removeprefix(f"engine {entry.name}: ")
        return EngineAvailability(entry.name, runs=False, lines=(package, reason))
    return EngineAvailability(entry.name, runs=True, lines=(package, f"simjudge engines check {entry.name}"))


def _default() -> EngineAvailability:
    missing = [name for name in ("mujoco", "mitsuba") if importlib.util.find_spec(name) is None]
    if missing:
        missing_line = f"missing: {', '.join(missing)}; pip install simjudge[sim]"
        return EngineAvailability("default", runs=False, lines=(missing_line,))
    from simjudge.sim.engines.default.variant import REMEDY, choose_variant, find_llvm, has_cuda, llvm_version

    versions = ", ".join(f"{label} {importlib.metadata.version(name)}" for label, name in
                         (("MuJoCo", "mujoco"), ("Mitsuba", "mitsuba")))  # fmt: skip
    library, why = find_llvm()
    llvm = f"libLLVM {llvm_version(library)} at {library}, fit" if library else f"libLLVM: {why}; {REMEDY}"
    try:
        variant = f"variant {choose_variant()}"
    except SimjudgeError as error:
        variant = f"variant: {error}"
    cuda = "CUDA: a GPU" if has_cuda() else "CUDA: none"
    return EngineAvailability("default", runs=True, lines=(versions, variant, f"{llvm}; {cuda}", _DEFAULT_ABILITIES))


def _baked(*, runs: bool) -> EngineAvailability:
    standing = "the default engine with the light of what stands found once: for closed loops; engine default is exact"
    return EngineAvailability("baked", runs=runs, lines=(standing,))


def _chrono() -> EngineAvailability:
    from simjudge.sim.engines.chrono.chrono_engine import describe_modules
    from simjudge.sim.engines.chrono.modules import load_modules, missing_modules
    from simjudge.sim.engines.chrono.picture_trial import picture_problem
    from simjudge.sim.engines.chrono.renderer import vulkan_renderer
    from simjudge.sim.engines.chrono.versions import identify_release

    try:
        modules = load_modules()
        release = identify_release(modules.core, modules.sensor, modules.vehicle, modules.version)
    except SimjudgeError as error:
        return EngineAvailability("chrono", runs=False, lines=(str(error).removeprefix("engine chrono: "),))
    parts = [name for name, has in (
        ("cameras", release.cameras), ("semantic buffer", release.semantic_buffer), ("fixed seed", release.random_seed),
        ("physical camera", release.phys_camera), ("ARTcar", release.vehicles)) if has]  # fmt: skip
    known = tuple(f"known: {line}" for line in (release.defects() if modules.sensor is not None else ()))
    parts_line = f"has: {', '.join(parts) or 'the core alone'}"
    own = "; lidar, GPS and inertial sensors of Chrono's own on them" if modules.sensor is not None else ""
    car = f"{_CHRONO_CAR}{own}" if release.vehicles else _CHRONO_WITHOUT_CAR
    absent = tuple(f"missing: {line}" for line in missing_modules())
    vulkan = release.cameras and not hasattr(modules.sensor, "ChOptixSensor")
    renders = (f"renders: {vulkan_renderer()}",) if vulkan else ()
    trouble = picture_problem() if release.cameras else ""
    failed = (f"pictures were tried and fail: {trouble}; see docs/guides/chrono.md for a build",) if trouble else ()
    sees = _CHRONO_ABILITIES if release.cameras and not trouble else _CHRONO_UNSEEN
    lines = (describe_modules(modules), *renders, *failed, *absent, parts_line, sees, car, *known)
    return EngineAvailability("chrono", runs=True, lines=lines)
