"""Message definitions as installed on this machine, for recordings to carry, and to compare with what they carry."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rosbags.interfaces import MessageDefinitionFormat, Nodetype
from rosbags.typesys import TypesysError, get_types_from_idl, get_types_from_msg
from rosbags.typesys.store import Typestore

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import standard_types
from simjudge.data.rosbag2.storage import StoredTopic


class MessageDefinition(NamedTuple):
    """A message type: its full definition text, with those of the types in it, and its REP 2016 hash."""

    text: str
    digest: str


@cache
def installed_definition(name: str) -> MessageDefinition:
    """The definition of a message type as installed."""
    found: dict[str, Any] = {}
    _collect(name, found)
    store = Typestore()
    try:
        store.register(found)
        text, _ = store.generate_msgdef(name, ros_version=2)
        return MessageDefinition(text, store.hash_rihs01(name))
    except (TypesysError, KeyError, ValueError) as error:
        raise SimjudgeError(f"{name}: its definition cannot be understood ({error})") from error


def has_installed_definition(topic: StoredTopic) -> bool:
    """Whether a recorded topic's type is the installed one of that name.

    Returns:
        True also where the recording or the installation does not hold the definition.
    """
    if topic.definition.format != MessageDefinitionFormat.MSG or not topic.definition.data:
        return True
    try:
        installed: dict[str, Any] = {}
        _collect(topic.type, installed)
        recorded = get_types_from_msg(topic.definition.data, topic.type)
        return all(recorded.get(name, fields)[1] == fields[1] for name, fields in installed.items())
    except (SimjudgeError, TypesysError, KeyError, ValueError):
        return True


def _collect(name: str, found: dict[str, Any]) -> None:
    """Add a type and all types in it."""
    if name in found:
        return
    package, _, stem = name.partition("/msg/")
    parsed = _parsed(package, stem)
    if parsed is None:
        parsed = {name: standard_types().fielddefs[name]} if name in standard_types().fielddefs else None
    if not parsed or name not in parsed:
        raise SimjudgeError(f"{name}: the installed package {package} has no definition of it")
    found.update(parsed)
    for _, fields in list(parsed.values()):
        for _, description in fields:
            kind, content = description
            inner = content[0] if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE) else description
            if inner[0] == Nodetype.NAME:
                _collect(inner[1], found)


def _parsed(package: str, stem: str) -> dict[str, Any] | None:
    """What the installed .msg (or, without one, .idl) file defines, None where there is none."""
    for folder in _shares(package):
        file = folder / "msg" / f"{stem}.msg"
        if file.is_file():
            return dict(get_types_from_msg(file.read_text(encoding="utf-8"), f"{package}/msg/{stem}"))
        file = file.with_suffix(".idl")
        if file.is_file():
            return dict(get_types_from_idl(file.read_text(encoding="utf-8")))
    return None


def _shares(package: str) -> list[Path]:
    """Where a package's share folder may be: on a ROS 2 installation, and where ROS 2 comes from wheels."""
    out = [Path(sys.prefix) / "share" / package]
    try:
        out.insert(0, Path(get_package_share_directory(package)))
    except (PackageNotFoundError, LookupError, ValueError, OSError):
        return out
    return out
