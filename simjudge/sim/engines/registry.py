"""The engines by name, our own and those of other packages, and which can run on this machine and do what.

Engines of other packages are entry points of the group `simjudge.sim.engines`. An engine moves and lights a scene
behind the interface of `simjudge.sim.engines.contract`. It is named as its package registers it, or by its class,
`package.module:Class`, which needs no registration.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.core.installed import install_command
from simjudge.core.settings import TextForm
from simjudge.core.text import near_name

if TYPE_CHECKING:
    from simjudge.geometry.poses import Pose
    from simjudge.sim.engines.contract import Engine
    from simjudge.sim.scene.model import Scene
    from simjudge.sim.vehicle.vehicle import Vehicle

GROUP = "simjudge.sim.engines"  # The group of entry points in which a package registers its engines
# simjudge's own, by name. They stand here so that a checkout that is not installed has them; their names are taken.
OWN_ENGINES = {
    "default": EntryPoint("default", "simjudge.sim.engines.default.default_engine:DefaultEngine", GROUP),
    "baked": EntryPoint("baked", "simjudge.sim.engines.default.baked_engine:BakedEngine", GROUP),
    "mujoco": EntryPoint("mujoco", "simjudge.sim.engines.mujoco.mujoco_engine:MujocoEngine", GROUP),
    "chrono": EntryPoint("chrono", "simjudge.sim.engines.chrono.chrono_engine:ChronoEngine", GROUP),
}
# What an option or setting that chooses an engine takes, in words.
CHOICES = "default, baked, mujoco, chrono, a plug-in's name, or package:Class"
_REMEDIES = dict.fromkeys(("default", "baked", "mujoco"), f"; {install_command('mitsuba')}")


def registered_engines() -> dict[str, list[EntryPoint]]:
    """The entry points of all engines by name: simjudge's own first, then those of other packages by name."""
    found: dict[str, list[EntryPoint]] = {name: [entry] for name, entry in OWN_ENGINES.items()}
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        others = found.setdefault(entry.name, [])
        if entry.name not in OWN_ENGINES and all(entry.value != other.value for other in others):
            others.append(entry)
    return found


def find_engine(name: str) -> EntryPoint:
    """The entry point of an engine, without importing it."""
    if name in OWN_ENGINES:
        return OWN_ENGINES[name]
    if ":" in name:
        module, _, attribute = name.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
            raise UsageError(f"engine {name!r}: the form is package.module:Class")
        return EntryPoint(name, name, GROUP)
    registered = registered_engines()
    entries = registered.get(name, [])
    if not entries:
        near = near_name(name, registered) or f"; there are {', '.join(registered)}, or package:Class"
        raise UsageError(f"engine {name!r}: no engine has this name{near}")
    if len(entries) > 1:
        several = " and ".join(describe_entry(entry) for entry in entries)
        raise UsageError(f"engine {name!r}: {several} both register it; name the class instead, {entries[0].value}")
    return entries[0]


def describe_entry(entry: EntryPoint) -> str:
    """The package and class of an engine for messages: such as "mist-engine 1.2 (mist.engine:MistEngine)"."""
    package = getattr(entry, "dist", None)
    return f"{package.name} {package.version} ({entry.value})" if package else entry.value


def engine_class(name: str) -> Callable[..., Engine]:
    """The class of an engine, imported."""
    entry = find_engine(name)
    try:
        loaded: Any = entry.load()
    except SimjudgeError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise SimjudgeError(
            f"engine {name}: {describe_entry(entry)} cannot be imported: {reason}{_REMEDIES.get(name, '')}"
        ) from error
    if not isinstance(loaded, type):
        raise SimjudgeError(f"engine {name}: {describe_entry(entry)} is no class")
    contract = importlib.import_module("simjudge.sim.engines.contract").Engine
    methods = [method for method in vars(contract) if not method.startswith("_")]
    lacking = [method for method in methods if not hasattr(loaded, method)]
    lacking += sorted(getattr(loaded, "__abstractmethods__", ()))
    if lacking:
        raise SimjudgeError(
            f"engine {name}: {describe_entry(entry)} lacks {', '.join(lacking)} of simjudge.sim.engines.contract.Engine"
        )
    checked: Callable[..., Engine] = loaded
    return checked


def make_engine(name: str, scene: Scene, vehicle: Vehicle | None = None, start: Pose | None = None) -> Engine:
    """The engine of a name, with a scene and perhaps a car at `start` (by default the course's, or the origin)."""
    made = engine_class(name)
    if scene.cars and not hasattr(made, "car_states"):
        raise UsageError(
            f"{scene.path or scene.name}: cars: engine {name} moves no cars but the one that carries the camera; take"
            " engine default, baked or mujoco, or a scene without cars"
        )
    try:
        return made(scene, vehicle, start)
    except SimjudgeError:
        raise
    except Exception as error:
        if name in OWN_ENGINES:
            raise  # a mistake of ours, whose traceback is needed
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise SimjudgeError(f"engine {name}: {describe_entry(find_engine(name))} cannot be made: {reason}") from error


def limit_threads(name: str, count: int) -> None:
    """Let an engine use few of the cores, before it is made: others work beside it."""
    limit = getattr(engine_class(name), "limit_threads", None)
    if limit is not None:
        limit(count)


def _parse_engine(value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"engine {value!r}: must be a text")
    return find_engine(value).name


# How a setting that chooses an engine is written; an unknown name is refused when it is read.
ENGINE_FORM = TextForm(_parse_engine, str, "NAME|PACKAGE:CLASS")


_DEFAULT_ABILITIES = (
    "can: any vehicle file, all lenses, linear radiance as floats, shadows and reflections, class, instance and depth"
)
_MUJOCO_ABILITIES = (
    "can: any vehicle file, all lenses but those that see all around, linear radiance; matt surfaces, no shadows of"
    " lamps, no reflections, no rolling shutter: another simulator's look on the default engine's physics and rays"
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
    """Whether an engine can run on this machine."""

    name: str  # name of the engine, as `make_engine` takes it
    runs: bool  # whether the engine can run here
    lines: tuple[str, ...]  # versions, backends and abilities, or what is missing and how to get it


def engine_availability() -> tuple[EngineAvailability, ...]:
    """The availability of all engines: our own, then those that other packages register."""
    others = (entries for name, entries in registered_engines().items() if name not in OWN_ENGINES)
    plugins = (_plugin(entry) for entries in others for entry in entries)
    default = _default()
    return (default, _baked(runs=default.runs), _mujoco(), _chrono(), *plugins)


def check_engine(name: str) -> None:
    """Raise, in a line, where an engine is unknown or cannot run on this machine."""
    entry = find_engine(name)
    known = {} if ":" in name else {engine.name: engine for engine in engine_availability()}
    if name not in known:
        engine_class(entry.name)
    elif not known[name].runs:
        raise UsageError(f"engine {name}: {'; '.join(known[name].lines)}")


def _plugin(entry: EntryPoint) -> EngineAvailability:
    package = f"registered by {describe_entry(entry)}"
    try:
        engine_class(entry.name)
    except SimjudgeError as error:
        reason = str(error).removeprefix(f"engine {entry.name}: ")
        return EngineAvailability(entry.name, runs=False, lines=(package, reason))
    return EngineAvailability(entry.name, runs=True, lines=(package, f"simjudge sim engines check {entry.name}"))


def _not_loaded(package: str, error: Exception) -> str:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return f"{package} is installed but cannot be loaded: {reason}; install it again: {install_command(package)}"


def _default() -> EngineAvailability:
    missing = [name for name in ("mujoco", "mitsuba") if importlib.util.find_spec(name) is None]
    if missing:
        missing_line = f"missing: {', '.join(missing)}; {install_command(missing[0])}"
        return EngineAvailability("default", runs=False, lines=(missing_line,))
    try:
        importlib.import_module("mujoco")
    except Exception as error:  # noqa: BLE001 - a broken installation fails in its own way
        return EngineAvailability("default", runs=False, lines=(_not_loaded("mujoco", error),))
    from simjudge.sim.engines.default.variant import REMEDY, choose_variant, find_llvm, has_cuda, llvm_version

    versions = ", ".join(
        f"{label} {importlib.metadata.version(name)}" for label, name in (("MuJoCo", "mujoco"), ("Mitsuba", "mitsuba"))
    )
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


def _mujoco() -> EngineAvailability:
    if importlib.util.find_spec("mujoco") is None:
        return EngineAvailability("mujoco", runs=False, lines=(f"missing: mujoco; {install_command('mujoco')}",))
    try:
        from simjudge.sim.engines.mujoco.gl_pictures import make_context
    except Exception as error:  # noqa: BLE001 - a broken installation fails in its own way
        return EngineAvailability("mujoco", runs=False, lines=(_not_loaded("mujoco", error),))
    version = f"MuJoCo {importlib.metadata.version('mujoco')}, its own renderer"
    try:
        kind, context = make_context()
    except SimjudgeError as error:
        return EngineAvailability("mujoco", runs=False, lines=(version, str(error).removeprefix("engine mujoco: ")))
    context.free()
    return EngineAvailability("mujoco", runs=True, lines=(f"{version}, OpenGL by {kind}", _MUJOCO_ABILITIES))


def _chrono() -> EngineAvailability:
    from simjudge.sim.engines.chrono.cameras import picture_problem, vulkan_renderer
    from simjudge.sim.engines.chrono.chrono_engine import describe_modules
    from simjudge.sim.engines.chrono.modules import identify_release, load_modules, missing_modules

    try:
        modules = load_modules()
        release = identify_release(modules.core, modules.sensor, modules.vehicle, modules.version)
    except SimjudgeError as error:
        return EngineAvailability("chrono", runs=False, lines=(str(error).removeprefix("engine chrono: "),))
    parts = [
        name
        for name, has in (
            ("cameras", release.cameras),
            ("semantic buffer", release.semantic_buffer),
            ("fixed seed", release.random_seed),
            ("physical camera", release.phys_camera),
            ("ARTcar", release.vehicles),
        )
        if has
    ]
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
